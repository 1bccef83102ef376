"""Modes and classes with `__torch_dispatch__`: handlers that are asked about operators, below the record of gradients.

A class with `__torch_dispatch__(cls, func, types, args, kwargs)` is asked about every operator that has a tensor of it
among its arguments; a mode about every operator while it is active. `func` is one of torch.ops.aten.
"""

import contextlib
import warnings
from dataclasses import dataclass

from .. import _C
from .._absent import absent_names as _absent_names
from .._aten import modes as _modes


class TorchDispatchMode:
    """Base of modes: within `with mode:`, its `__torch_dispatch__(func, types, args, kwargs)` answers every operator.

    While it answers it is not active, so that it may call `func`; modes around it then are asked in their turn.
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key=None):
        self.old_dispatch_mode_flags = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__ of its own")

    def __enter__(self):
        _modes.push(self)
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        _modes.pop()

    @classmethod
    def push(cls, *args, **kwargs):
        """The same as making an instance."""
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        """Whether the mode is part of a library's machinery; FakeTensorMode is."""
        return False

    @classmethod
    def ignore_compile_internals(cls):
        """Whether functions compiled with fullgraph=True may be called under the mode, as plain Python."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode():
    """The innermost mode of this thread; None if none is active."""
    return _modes.stack()[-1] if _modes.stack() else None


def _get_current_dispatch_mode_stack():
    """All modes of this thread, the outermost first."""
    return list(_modes.stack())


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a mode is active in this thread; those of a library's machinery can be left out."""
    return any(include_infra_modes or not mode.is_infra_mode() for mode in _modes.stack())


def is_in_any_mode_without_ignore_compile_internals():
    return any(not mode.ignore_compile_internals() for mode in _modes.stack())


def _push_mode(mode):
    _modes.push(mode)


def _pop_mode(mode_key=None):
    return _modes.pop()


@contextlib.contextmanager
def _pop_mode_temporarily(mode_key=None):
    """Within the block, the innermost mode is off the stack."""
    with _modes.popped() as mode:
        yield mode


@contextlib.contextmanager
def _disable_current_modes():
    """Within the block, no mode is active."""
    with _modes.none_active() as before:
        yield before


def is_traceable_wrapper_subclass(t):
    """Whether `t` is a tensor that can be taken apart and put together again (`__tensor_flatten__`)."""
    return isinstance(t, _C.Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t):
    """The same of a class."""
    return (
        issubclass(t, _C.Tensor)
        and t is not _C.Tensor
        and t.__torch_dispatch__ is not _C.Tensor.__torch_dispatch__
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """A tensor of the same class whose inner tensors are callback(name, tensor)."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    made = type(t).__tensor_unflatten__(inner, context, outer_size, outer_stride)
    if made.shape != outer_size:
        raise AssertionError(
            f"__tensor_unflatten__ gave sizes {tuple(made.shape)} where {tuple(outer_size)} are wanted"
        )
    if tuple(made.stride()) != tuple(outer_stride):
        raise AssertionError(f"__tensor_unflatten__ gave strides {made.stride()} where {outer_stride} are wanted")
    return made


@dataclass
class AliasInfo:
    alias_set: set
    is_write: bool
    name: str | None


@dataclass
class SchemaInfo:
    args: list
    outs: list


def _alias_info(argument):
    info = argument.alias_info
    return AliasInfo(set(info.before_set) if info else set(), bool(info and info.is_write), argument.name)


def get_alias_info(func):
    """Which arguments and results of an operator share memory."""
    return SchemaInfo(*([_alias_info(a) for a in part] for part in (func._schema.arguments, func._schema.returns)))


def return_and_correct_aliasing(func, args, kwargs, out):
    """What a handler returns for `func`: where it writes in place, the argument that was written, else `out`."""
    schema = func._schema
    if not hasattr(schema, "arguments"):  # of an operator of the program: results are its own
        return out
    written = [a.alias_info.before_set if a.is_write else set() for a in schema.returns]
    if not any(written):
        return out

    def argument_for(letters):
        for place, a in enumerate(schema.arguments):
            if a.alias_info and a.alias_info.before_set & letters:
                return args[place] if place < len(args) else kwargs[a.name]
        raise RuntimeError(f"{func}: no argument is the one that the result is")

    if len(written) == 1:
        return argument_for(written[0])
    given = [argument_for(letters) if letters else o for letters, o in zip(written, out)]
    return type(out)(given)


__getattr__ = _absent_names(__name__)
