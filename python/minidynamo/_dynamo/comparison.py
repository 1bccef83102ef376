"""torch._dynamo.utils: whether two programs gave the same, and copies of their arguments."""

import logging

from .. import _C
from .utils import product

_log = logging.getLogger("minidynamo._dynamo")
_PLAIN = (int, str, type(None), bool, type(NotImplemented), _C.device)


def rmse(ref, res):
    """The root of the mean of the squared differences, 0-d."""
    return (ref - res).square().mean().sqrt()


def bitwise_same(ref, res, equal_nan=False):
    """same() without any tolerance."""
    return same(ref, res, tol=0.0, equal_nan=equal_nan)


def same(
    ref,
    res,
    fp64_ref=None,
    cos_similarity=False,
    tol=1e-4,
    equal_nan=False,
    exact_dtype=True,
    relax_numpy_equality=False,
    ignore_non_fp=False,
):
    """Whether two values, or nested lists, tuples and dicts of them, are the same within `tol`; what differs is logged.

    Tensors of ints and bools have to be equal, those of floats within `tol`, relative or absolute; where they are not
    and `fp64_ref` is what float64 gives, `res` has to be about as near to it as `ref` is. `cos_similarity` asks only
    whether they point in one direction. AssertionError for other keys, RuntimeError for other kinds of values.
    """
    more = dict(
        cos_similarity=cos_similarity,
        tol=tol,
        equal_nan=equal_nan,
        exact_dtype=exact_dtype,
        relax_numpy_equality=relax_numpy_equality,
        ignore_non_fp=ignore_non_fp,
    )
    if isinstance(ref, (list, tuple)):
        if not isinstance(res, (list, tuple)) or len(ref) != len(res):
            return _differ("lengths", ref, res)
        exact = [None] * len(ref) if fp64_ref is None else fp64_ref
        return all(same(a, b, c, **more) for a, b, c in zip(ref, res, exact))
    if isinstance(ref, dict):
        if not isinstance(res, dict) or ref.keys() != res.keys():
            raise AssertionError(f"The keys differ: {list(ref)} and {list(res) if isinstance(res, dict) else res!r}")
        exact = dict.fromkeys(ref) if fp64_ref is None else fp64_ref
        return all(same(ref[key], res[key], exact[key], **more) for key in ref)
    if isinstance(ref, set):
        if not isinstance(res, set):
            raise AssertionError(f"A set is compared with {type(res)}")
        return ref == res
    if isinstance(ref, float):
        close = abs(ref - res) <= tol or (equal_nan and ref != ref and res != res)
        return bool(close) or _differ("floats", ref, res)
    if _is_tensor_or_array(ref):
        return _same_tensors(_as_tensor(ref), _as_tensor(res), fp64_ref, more)
    if isinstance(ref, _PLAIN):
        return (
            (type(ref) is type(res) or isinstance(res, (bool, int))) and bool(ref == res) or _differ("values", ref, res)
        )
    raise RuntimeError(f"same() knows nothing about values like {type(ref).__name__}")


def _is_tensor_or_array(x):
    return isinstance(x, _C.Tensor) or type(x).__module__ == "numpy"


def _as_tensor(x):
    return x if isinstance(x, _C.Tensor) else _C.as_tensor(x)


def _differ(what, ref, res):
    _log.error("same(): %s differ: %r and %r", what, ref, res)
    return False


def _same_tensors(ref, res, exact, options):
    if options["exact_dtype"] and ref.dtype != res.dtype:
        return _differ("dtypes", ref.dtype, res.dtype)
    if not (ref.dtype.is_floating_point or ref.dtype.is_complex):
        return options["ignore_non_fp"] or bool((ref == res).all()) or _differ("elements", ref, res)
    tol, equal_nan = options["tol"], options["equal_nan"]
    res = res.to(ref.dtype)
    if options["cos_similarity"]:
        return _point_alike(ref.flatten().to(_C.float32), res.flatten().to(_C.float32), 0.99)
    if tol == 0.0:
        return _equal(ref, res, equal_nan)
    if _C.allclose(ref, res, atol=tol, rtol=tol, equal_nan=equal_nan):
        return True
    if exact is None or not exact.dtype.is_floating_point:
        return _differ("elements", ref, res)
    error, allowed = float(rmse(exact, res.to(exact.dtype))), float(rmse(exact, ref.to(exact.dtype)))
    return error <= 2.0 * allowed + tol / 10.0 or _differ("elements, and their errors,", allowed, error)


def _equal(ref, res, equal_nan):
    equal = ref == res
    if equal_nan:
        equal = equal | (ref.isnan() & res.isnan())
    return bool(equal.all())


def _point_alike(ref, res, least):
    if not bool(ref.any()) and not bool(res.any()):
        return True
    length = float(ref.norm() * res.norm())
    found = float((ref * res).sum()) / length if length else 0.0
    return found >= least or _differ("directions", ref, res)


def clone_input(x, *, dtype=None):
    """A copy with the same sizes, strides, class, `requires_grad` and `grad`; a leaf."""
    plain = x.detach()
    if x.is_meta or any(size > 1 and stride == 0 for size, stride in zip(x.shape, x.stride())):
        made = plain.clone()
    else:
        needed = 1 + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride()))
        memory = _C.empty(needed if product(x.shape) else 0, dtype=dtype or x.dtype, device=x.device)
        made = memory.as_strided(x.shape, x.stride()).copy_(plain)
    if x.is_leaf:
        made.requires_grad_(x.requires_grad)
        if x.grad is not None:
            made.grad = clone_input(x.grad, dtype=dtype)
    return made


def clone_inputs(example_inputs):
    """The same list, or dict of tensors, with copies of the tensors in it."""
    if isinstance(example_inputs, dict):
        for key, value in example_inputs.items():
            if not isinstance(value, _C.Tensor):
                raise AssertionError(f"{key!r} is no tensor but {type(value)}")
        return {key: clone_input(value) for key, value in example_inputs.items()}
    return [clone_input(x) if isinstance(x, _C.Tensor) else x for x in example_inputs]
