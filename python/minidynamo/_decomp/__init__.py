"""torch._decomp: operators of torch.ops.aten as functions of simpler ones, for make_fx, aot_autograd and exports.

`decomposition_table` maps operators to functions. A function of the program's own is added by register_decomposition().
"""

from collections.abc import Iterable

from .._absent import absent_names as _absent_names
from .._ops import OpOverload, OpOverloadPacket

__all__ = [
    "core_aten_decompositions", "decomposition_table", "get_decompositions", "global_decomposition_table",
    "meta_table", "pre_autograd_decomposition_table", "register_decomposition",
]  # fmt: skip
_KINDS = ("post_autograd", "pre_autograd", "meta")
global_decomposition_table = {kind: {} for kind in _KINDS}
decomposition_table = global_decomposition_table["post_autograd"]
pre_autograd_decomposition_table = global_decomposition_table["pre_autograd"]
meta_table = global_decomposition_table["meta"]


def _overloads(op):
    """The operators a name, a packet or an overload stands for."""
    if isinstance(op, OpOverload):
        return [op]
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    raise TypeError(f"an operator of torch.ops is needed, not {type(op).__name__}")


def register_decomposition(aten_op, registry=None, *, type="post_autograd", unsafe=False):
    """Decorator: the function is what `aten_op` (an operator or several) is made of.

    RuntimeError for an operator that has one in this table.
    """
    if type not in _KINDS:
        raise AssertionError(f"type must be one of {_KINDS}, got {type}")

    def register(fn):
        table = global_decomposition_table[type] if registry is None else registry
        for op in aten_op if isinstance(aten_op, Iterable) and not isinstance(aten_op, OpOverloadPacket) else [aten_op]:
            for overload in _overloads(op):
                if overload in table:
                    raise RuntimeError(f"duplicate registrations for {overload}")
                table[overload] = fn
        return fn

    return register


def _fill():
    if not decomposition_table:
        from .._ops import ops
        from .decompositions import RULES

        for name, rule in RULES.items():
            packet, _, overload = name.partition(".")
            operator = getattr(getattr(ops.aten, packet, None), overload or "default", None)
            if operator is not None:
                decomposition_table[operator] = rule


_fill()


def get_decompositions(aten_ops, type="post_autograd"):
    """{operator: function} of those of `aten_ops`, operators or packets of them, that have one."""
    if type not in _KINDS:
        raise AssertionError(f"type must be one of {_KINDS}, got {type}")
    table, found = global_decomposition_table[type], {}
    for op in aten_ops:
        for overload in _overloads(op) if isinstance(op, (OpOverload, OpOverloadPacket)) else ():
            if overload in table:
                found[overload] = table[overload]
    return found


def remove_decompositions(decompositions, aten_ops):
    """Takes the operators out of a table."""
    for op in aten_ops:
        for overload in _overloads(op):
            decompositions.pop(overload, None)


def core_aten_decompositions():
    """The table of what is no operator of the core set: all functions here."""
    from ..export.decompositions import CustomDecompTable

    return CustomDecompTable(decomposition_table)


def _load(name, missing):
    if name == "decompositions":
        from importlib import import_module

        return import_module(f"{__name__}.decompositions")
    return missing


__getattr__ = _absent_names(__name__, _load)
