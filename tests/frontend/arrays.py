"""Runs NumPy code plain and compiled and compares results, types, dtypes, memory and the state of the arguments."""

import numpy as np

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

# How far results may be from NumPy's, by the width of a float: sums are added in another order than NumPy's.
ROUNDING = {2: 1e-2, 4: 1e-6, 8: 1e-14}


def close(got, want, where, tolerance):
    """Floats within the rounding of their dtype; a test whose numbers lose digits names a tolerance of its own."""
    allowed = tolerance or ROUNDING[want.dtype.itemsize]
    np.testing.assert_allclose(got, want, rtol=allowed, atol=allowed, err_msg=where)


def compare(got, want, where="result", tolerance=None):
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
        if want.dtype.kind == "f":
            close(got, want, where, tolerance)
        else:
            np.testing.assert_array_equal(got, want, err_msg=where)
    elif isinstance(want, float):
        close(np.float64(got), np.float64(want), where, tolerance)
    else:
        assert got == want, f"{where}: {got!r} instead of {want!r}"


def outcome(function, args):
    """(result, None) or (None, exception)."""
    try:
        return function(*args), None
    except Exception as error:  # noqa: BLE001  whatever the program raises is its behaviour
        return None, error


def agree(function, make_args=tuple, *, frames=1, calls=2, tolerance=None, backends=("eager", "llvm")):
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
