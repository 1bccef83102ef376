"""Operators over functions."""

from .._absent import absent_names as _absent_names
from .associative_scan import associative_scan as associative_scan
from .cond import cond as cond
from .invoke_subgraph import invoke_subgraph as invoke_subgraph
from .map import map as map
from .scan import scan as scan
from .strict_mode import strict_mode as strict_mode
from .while_loop import while_loop as while_loop

__getattr__ = _absent_names(__name__)
