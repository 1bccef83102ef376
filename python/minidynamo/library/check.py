"""opcheck: does an operator keep what it declares?"""

import inspect

from .. import _C

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
        return v.clone() if isinstance(v, _C.Tensor) else type(v)(map(copied, v)) if isinstance(v, (list, tuple)) else v

    return [copied(a) for a in args], {k: copied(v) for k, v in kwargs.items()}


def _tensors(value):
    if isinstance(value, _C.Tensor):
        return [value]
    return [t for v in value for t in _tensors(v)] if isinstance(value, (list, tuple)) else []


def _check_schema(op, args, kwargs):
    values = op._schema.bind(*_copies(args, kwargs))
    names = [(p, t, t.clone()) for p in op._schema.parameters for t in _tensors(values[p.name])]
    op(**values)
    for p, tensor, before in names:
        if not p.written and not _same(tensor, before):
            raise RuntimeError(f"argument {p.name} is not declared to be written to, but the operator wrote to it")


def _check_fake(op, args, kwargs):
    real = _tensors(op(*_copies(args, kwargs)[0], **_copies(args, kwargs)[1]))
    args, kwargs = _copies(args, kwargs)
    fake = _tensors(op._fake(*args, **kwargs))
    if [(t.shape, t.dtype) for t in real] != [(t.shape, t.dtype) for t in fake]:
        raise RuntimeError(
            f"results are {[(tuple(t.shape), t.dtype) for t in real]}, but the fake implementation gives "
            f"{[(tuple(t.shape), t.dtype) for t in fake]}"
        )


def _check_compiled(op, args, kwargs):
    from .._dynamo import compile

    plain_args, plain_kwargs = _copies(args, kwargs)
    plain = _tensors(op(*plain_args, **plain_kwargs))
    compiled_args, compiled_kwargs = _copies(args, kwargs)
    call = compile(lambda *a, **k: op(*a, **k), fullgraph=True, dynamic=True)
    compiled = _tensors(call(*compiled_args, **compiled_kwargs))
    before = [*plain, *_tensors(plain_args), *_tensors(list(plain_kwargs.values()))]
    after = [*compiled, *_tensors(compiled_args), *_tensors(list(compiled_kwargs.values()))]
    if len(before) != len(after) or not all(map(_same, before, after)):
        raise RuntimeError("the compiled operator gives other values")


def _check_autograd(op, args, kwargs):
    """The formula takes the context and one gradient for each result, what sets the context up takes three things."""
    formula = op._operator.autograd
    if formula is None:
        return "no formula is registered"
    backward, setup_context = formula
    results = [None] * len(op._schema.returns)
    for function, name, given in ((backward, "backward", results), (setup_context, "setup_context", [None, None])):
        if function is None and name == "setup_context":
            continue
        if not callable(function):
            raise RuntimeError(f"{name} is no function but {type(function)}")
        _check_takes(function, name, [None, *given])
    return None


def _check_takes(function, name, given):
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # a builtin that does not say
    named = name == "setup_context" and {p.name for p in signature.parameters.values()} >= {"inputs", "output"}
    try:
        signature.bind(given[0], **{"inputs": None, "output": None}) if named else signature.bind(*given)
    except TypeError as error:
        raise RuntimeError(f"{name} {signature} does not take {len(given)} arguments: {error}") from None


def _same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and repr(a.tolist()) == repr(b.tolist())


_RUN = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_dynamic": _check_compiled,
}
