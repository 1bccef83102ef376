"""Compilers of forward and backward graphs: `(graph module, example inputs) -> callable`."""

from .._absent import absent_names as _absent_names
from .aot_autograd import aot_function, aot_module, make_boxed_func
from .partitioners import min_cut_rematerialization_partition


def nop(fx_g, _):
    """The graph as it is."""
    return make_boxed_func(fx_g.forward)


def print_compile(fx_g, _):
    """The graph as it is; its code is printed."""
    print(fx_g.code)
    return make_boxed_func(fx_g.forward)


def ts_compile(fx_g, inps):
    """Machine code for the graph, by the package's own compiler."""
    from .._dynamo.eval_frame import compile

    return make_boxed_func(compile(fx_g.forward))


simple_ts_compile = ts_compile


def memory_efficient_fusion(fn, **kwargs):
    """A function or module with both graphs compiled; what the forward keeps for the backward is cut to the least."""
    from ..nn import Module

    chosen = {"fw_compiler": ts_compile, "bw_compiler": ts_compile, "partition_fn": min_cut_rematerialization_partition}
    return (aot_module if isinstance(fn, Module) else aot_function)(fn, **{**chosen, **kwargs})


__getattr__ = _absent_names(__name__)
