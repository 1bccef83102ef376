"""Every function and method, compiled, answers as it does eagerly, whatever fits or does not fit its signature."""

import warnings

import pytest

import minidynamo as torch

# Not comparable: fresh random numbers or uninitialised memory, addresses, process-wide settings.
LEFT_OUT = {
    "data_ptr", "resize_", "new_empty", "empty", "empty_like", "rand", "randn", "rand_like", "randn_like", "randint",
    "random_", "uniform_", "normal_", "bernoulli_", "exponential_", "cauchy_", "log_normal_", "geometric_",
    "randint_like", "randperm", "bernoulli", "multinomial", "normal",
    "manual_seed", "initial_seed", "set_default_dtype", "set_num_threads",
    "set_printoptions", "as_tensor", "from_numpy", "numpy",
}  # fmt: skip
METHOD_ARGUMENTS = ("", "1", "2.5", "y", "0, 1", "(1, 0)", "3, 2", "torch.float64", "0, True", "y, y", "foo=1")
FUNCTION_ARGUMENTS = ("", "x", "x, 1", "2.5, x", "x, y", "x, 0, 1", "x, (1, 0)", "3, 2", "x, dtype=torch.float64",
                      "[x, y]", "[x, y], 1", "x > 0, x, y", "1, 2", "x, y.t()")  # fmt: skip


def names_of(owner, kind):
    names = (n for n in dir(owner) if not n.startswith("_") and n not in LEFT_OUT)
    return [n for n in names if type(getattr(owner, n)).__name__ == kind]


def described(value):
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), str(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value), [described(v) for v in value]
    return repr(value)


def outcome(function):
    x, y = torch.arange(6.0).reshape(2, 3) - 2, torch.ones(2, 3) * 2
    try:
        result = described(function(x, y))
    except Exception as error:
        result = type(error), str(error)
    return result, described(x), described(y)


def check(source, capfd):
    function = eval(f"lambda x, y: {source}", {"torch": torch})
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert outcome(torch.compile(function)) == outcome(function), source
    assert "defect of minidynamo" not in capfd.readouterr().err, source


@pytest.mark.parametrize("name", names_of(torch.Tensor, "op_method"))
def test_method(name, capfd):
    for arguments in METHOD_ARGUMENTS:
        check(f"x.{name}({arguments})", capfd)


@pytest.mark.parametrize("name", names_of(torch, "op_function"))
def test_function(name, capfd):
    for arguments in FUNCTION_ARGUMENTS:
        check(f"torch.{name}({arguments})", capfd)
