"""Derivatives along tangents while a function runs: dual tensors, a value with its tangent.

They stand on the record of operations, as func.jvp does: what is made of dual tensors is recorded, and its tangent is
worked out when unpack_dual() asks for it.
"""

from collections import namedtuple

from .. import _C
from .._absent import absent_names as _absent_names
from .._transforms.gradients import Level
from .grad_mode import enable_grad

UnpackedDualTensor = namedtuple("UnpackedDualTensor", "primal tangent")
_levels = []  # the one under way, if there is one


class _DualLevel:
    """The dual tensors of a level: what the record reaches of each, and their tangents."""

    def __init__(self):
        self.level = Level(True)
        self.reached, self.tangents = [], []

    def begin(self):
        self.level.__enter__()
        self.depth = _C._transforms()
        return self

    def end(self):
        self.level.__exit__(None, None, None)

    def dual(self, primal, tangent):
        """A tensor that carries the tangent."""
        seen = self.level.input(primal)
        self.reached.append(self.level.reached.pop())
        self.tangents.append(tangent)
        return seen

    def tangent_of(self, y):
        """None if `y` depends on no dual tensor."""
        level, whole = self.level, self.level.whole(y)
        if not whole.requires_grad or not self.reached:
            return None
        weights = level.whole(level.input(_C.zeros_like(y)))
        level.reached.pop()
        with enable_grad():
            found = level.gradients((whole,), self.reached, (weights,), True)
            used = [(g, level.whole(t.to(y.dtype))) for g, t in zip(found, self.tangents) if g is not None]
            if not used:
                return None
            backs, tangents = zip(*used)
            create = _C._is_differentiated(*backs, *tangents)
            product = level.gradients(backs, (weights,), tangents, create)[0]
        return _C.zeros_like(y) if product is None else level.outside(product)


def _current():
    return _levels[-1] if _levels else None


def enter_dual_level():
    """Begins a level; its number, 0. RuntimeError inside another one."""
    if _levels:
        raise RuntimeError("a level of forward-mode derivatives is under way, and they are not nested here")
    _levels.append(_DualLevel().begin())
    return 0


def exit_dual_level(*, level=None):
    """Ends the level. RuntimeError if none is under way, or it is not that one."""
    if not _levels or level not in (None, 0):
        raise RuntimeError("the level of forward-mode derivatives that is to end is not under way")
    _levels.pop().end()


class dual_level:  # noqa: N801  torch's name
    """`with dual_level():` for the tensors that make_dual() makes inside; also a decorator."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *error):
        exit_dual_level()

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with dual_level():
                return function(*args, **kwargs)

        return wrapper


def make_dual(tensor, tangent, *, level=None):
    """`tensor` with a tangent of its sizes. RuntimeError outside of a level and for other sizes, ValueError for
    tensors that are no floats."""
    found = _current()
    if found is None:
        raise RuntimeError("make_dual(): no level is under way: use it inside `with dual_level():`")
    for name, each in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(each, _C.Tensor):
            raise TypeError(f"make_dual(): argument '{name}' must be Tensor, not {type(each).__name__}")
        if not each.is_floating_point():
            raise ValueError(
                f"make_dual(): the {name} is of dtype {each.dtype}, and floating point ones have derivatives"
            )
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            f"make_dual(): a tensor of sizes {list(tensor.shape)} has a tangent of {list(tangent.shape)}"
        )
    if any(tensor is dual for dual in found.level.seen):
        raise RuntimeError("make_dual(): the tensor has a tangent at this level already")
    seen = found.dual(tensor, tangent)
    found.level.seen.append(seen)
    return seen


def unpack_dual(tensor, *, level=None):
    """(primal, tangent): the value and its tangent, None if it depends on no dual tensor or outside of a level."""
    found = _current()
    if found is None:
        return UnpackedDualTensor(tensor, None)
    tangent = found.tangent_of(tensor)
    return UnpackedDualTensor(_C._outside(tensor), tangent)


__getattr__ = _absent_names(__name__)
