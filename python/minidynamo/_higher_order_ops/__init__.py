"""Operators over functions."""

from .. import _ops
from .._absent import absent_names as _absent_names
from .associative_scan import associative_scan as associative_scan
from .cond import cond as cond
from .foreach_map import foreach_map as foreach_map
from .hints_wrap import hints_wrapper as hints_wrapper
from .invoke_subgraph import invoke_subgraph as invoke_subgraph
from .map import map as map
from .out_dtype import out_dtype as out_dtype
from .scan import scan as scan
from .strict_mode import strict_mode as strict_mode
from .while_loop import while_loop as while_loop
from .while_loop import while_loop_op as while_loop_op
from .wrap import wrap as wrap

_ops.over_functions.update(
    associative_scan=associative_scan,
    cond=cond,
    hints_wrapper=hints_wrapper,
    invoke_subgraph=invoke_subgraph,
    map_impl=map,
    out_dtype=out_dtype,
    scan=scan,
    strict_mode=strict_mode,
    while_loop=while_loop_op,
    wrap=wrap,
)
__getattr__ = _absent_names(__name__)
