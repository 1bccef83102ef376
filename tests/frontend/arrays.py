"""Runs NumPy code plain and compiled and compares results, types, dtypes, memory and the state of the arguments."""

import numpy as np

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter


def compare(got, want, where="result", tolerance=1e-6):
    """Asserts equality of nested results: arrays by type, dtype, shape, values up to rounding."""
    assert type(got) is type(want), f"{where}: {type(got)} instead of {type(want)}"
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want), where
        for i, (g, w) in enumerate(zip(got, want)):
            compare(g, w, f"{where}[{i}]", tolerance)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert got.dtype == want.dtype, f"{where}: {got.dtype} instead of {want.dtype}"
        assert got.shape == want.shape, f"{where}: {got.shape} instead of {want.shape}"
        if isinstance(want, np.ndarray):
            assert got.flags.writeable == want.flags.writeable, where
        if want.dtype == np.float16:
            tolerance = 1e-2
        if want.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=where)
        else:
            np.testing.assert_array_equal(got, want, err_msg=where)
    elif isinstance(want, float):
        assert got == want or abs(got - want) <= tolerance * max(1.0, abs(want)) or got != got and want != want, where
    else:
        assert got == want, f"{where}: {got!r} instead of {want!r}"


def outcome(function, args):
    """(result, None) or (None, exception)."""
    try:
        return function(*args), None
    except Exception as error:  # noqa: BLE001  whatever the program raises is its behaviour
        return None, error


def agree(function, make_args=tuple, *, frames=1, calls=2, tolerance=1e-6, backends=("eager", "llvm")):
    """Asserts that `function` does the same plain and compiled. frames: graphs compiled (None: not counted)."""
    counter = CompileCounter()
    with np.errstate(all="ignore"):
        for backend in (counter, *backends):
            torch._dynamo.reset()
            compiled = torch.compile(function, backend=backend)
            for _ in range(calls):
                plain_args, args = make_args(), make_args()
                want, refused = outcome(function, plain_args)
                got, error = outcome(compiled, args)
                assert type(error) is type(refused), f"{error!r} instead of {refused!r}"
                assert str(error) == str(refused)
                compare(got, want, "result", tolerance)
                compare(list(args), list(plain_args), "arguments", tolerance)
    if frames is not None:
        assert counter.frame_count == frames, f"{counter.frame_count} graphs instead of {frames}"
