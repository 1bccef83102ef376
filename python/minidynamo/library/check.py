"""opcheck: does an operator keep what it declares?"""

from .. import _C
from ..autograd import grad
from ..autograd.grad_mode import enable_grad
from .gradients import mapped, tensors_in

_TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """An operator does not do what it declares."""


def opcheck(op, args, kwargs=None, *, test_utils=_TESTS, raise_exception=True, atol=None, rtol=None):
    """Runs an operator on examples and compares: with its schema (nothing else is written to), with its fake
    implementation (sizes and dtypes), and compiled (the same values).

    Of a formula given to register_autograd() it is checked that it can be called as gradients will call it.

    Returns {test: "SUCCESS", "SKIPPED: why" where there is nothing to test, or the exception}; with `raise_exception` a
    failure raises OpCheckError.
    """
    kwargs = kwargs or {}
    tests = [test_utils] if isinstance(test_utils, str) else test_utils
    results = {}
    for test in tests:
        if test not in _TESTS:
            raise ValueError(f"unknown test {test!r}, known are {', '.join(_TESTS)}")
        try:
            skipped = _RUN[test](op, args, kwargs)
            results[test] = "SUCCESS" if skipped is None else f"SKIPPED: {skipped}"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {test} failed with {error}") from error
            results[test] = error
    return results


def _copies(args, kwargs):
    def copied(v):
        return v.detach().clone().requires_grad_(v.requires_grad) if isinstance(v, _C.Tensor) else v

    return mapped(copied, list(args)), {k: mapped(copied, v) for k, v in kwargs.items()}


def _check_schema(op, args, kwargs):
    values = op._schema.bind(*_copies(args, kwargs))
    names = [(p, t, t.detach().clone()) for p in op._schema.parameters for t in tensors_in(values[p.name])]
    op(**values)
    for p, tensor, before in names:
        if not p.written and not _same(tensor, before):
            raise RuntimeError(f"argument {p.name} is not declared to be written to, but the operator wrote to it")


def _check_fake(op, args, kwargs):
    real = tensors_in(op(*_copies(args, kwargs)[0], **_copies(args, kwargs)[1]))
    args, kwargs = _copies(args, kwargs)
    fake = tensors_in(op._fake(*args, **kwargs))
    if [(t.shape, t.dtype) for t in real] != [(t.shape, t.dtype) for t in fake]:
        raise RuntimeError(
            f"results are {[(tuple(t.shape), t.dtype) for t in real]}, but the fake implementation gives "
            f"{[(tuple(t.shape), t.dtype) for t in fake]}"
        )


def _check_compiled(op, args, kwargs):
    from .._dynamo import compile

    call = compile(lambda *a, **k: op(*a, **k), fullgraph=True, dynamic=True)
    before, after = ([t for part in _values_and_gradients(f, op, args, kwargs) for t in part] for f in (op, call))
    if len(before) != len(after) or not all(map(_same, before, after)):
        raise RuntimeError("the compiled operator gives other values, or other gradients")


def _values_and_gradients(function, op, args, kwargs):
    """(results and arguments after a call, gradients of the arguments where they require some and can have them)."""
    args, kwargs = _copies(args, kwargs)
    results = tensors_in(function(*args, **kwargs))
    arguments = tensors_in([*args, *kwargs.values()])
    leaves = [t for t in arguments if t.requires_grad]
    roots = [t for t in results if t.requires_grad]
    if not leaves or not roots or op._operator.autograd is None:
        return [*results, *arguments], []
    found = grad(roots, leaves, [_C.ones_like(t) for t in roots], allow_unused=True)
    return [*results, *arguments], [_C.zeros_like(t) if g is None else g for g, t in zip(found, leaves)]


def _check_autograd(op, args, kwargs):
    """The formula is called as backward() calls it: what it takes and returns has to fit."""
    if op._operator.autograd is None:
        return "no formula is registered"
    args, kwargs = _copies(args, kwargs)
    given = tensors_in([*args, *kwargs.values()])
    if not any(t.requires_grad for t in given):  # the example shows values; gradients may be asked of any
        for tensor in given:
            tensor.requires_grad_(tensor.is_floating_point() or tensor.is_complex())
    if not any(t.requires_grad for t in given):
        return "no argument can require grad"
    with enable_grad():
        _values_and_gradients(op, op, args, kwargs)
    return None


def _same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and repr(a.tolist()) == repr(b.tolist())


_RUN = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_dynamic": _check_compiled,
}
