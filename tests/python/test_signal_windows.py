"""torch.signal.windows against formulas over NumPy, what is refused, and torch.windows of torch's own namespace."""

import numpy as np
import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

windows = torch.signal.windows


def of_cosines(*factors):
    return lambda n, last: sum((-1) ** k * f * np.cos(2 * np.pi * k * n / last) for k, f in enumerate(factors))


FORMULAS = {
    "bartlett": lambda n, last: 1 - abs(2 * n / last - 1),
    "blackman": of_cosines(0.42, 0.5, 0.08),
    "cosine": lambda n, last: np.sin(np.pi * (n + 0.5) / (last + 1)),
    "exponential": lambda n, last: np.exp(-abs(n - last / 2)),
    "gaussian": lambda n, last: np.exp(-((n - last / 2) ** 2) / 2),
    "general_hamming": of_cosines(0.54, 0.46),
    "hamming": of_cosines(0.54, 0.46),
    "hann": of_cosines(0.5, 0.5),
    "kaiser": lambda n, last: np.i0(12.0 * np.sqrt(1 - (2 * n / last - 1) ** 2)) / np.i0(12.0),
    "nuttall": of_cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values(name):
    make = getattr(windows, name)
    for size in (2, 5, 8):
        for sym in (True, False):
            expected = FORMULAS[name](np.arange(size), size - 1 if sym else size)
            found = make(size, sym=sym, dtype=torch.float64)
            np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)
    assert make(1).tolist() == [1.0] and make(0).shape == (0,) and make(3).dtype == torch.float32
    assert make(3, requires_grad=True).requires_grad


def test_parameters():
    assert windows.general_cosine(4, a=[0.5, 0.3], sym=False).tolist() == pytest.approx([0.2, 0.5, 0.8, 0.5])
    assert windows.exponential(3, center=0, tau=2.0, sym=False).tolist() == pytest.approx(np.exp([0, -0.5, -1]))
    assert windows.gaussian(3, std=0.5).tolist() == pytest.approx(np.exp([-2, 0, -2]))
    assert windows.kaiser(3, beta=0.0).tolist() == [1.0, 1.0, 1.0]


REFUSED = [
    (lambda: windows.hann(-1), ValueError),
    (lambda: windows.hann(3, dtype=torch.int32), ValueError),
    (lambda: windows.hann(3, layout=torch.sparse_coo), ValueError),
    (lambda: windows.gaussian(3, std=0.0), ValueError),
    (lambda: windows.exponential(3, tau=-1.0), ValueError),
    (lambda: windows.exponential(3, center=1), ValueError),
    (lambda: windows.kaiser(3, beta=-1.0), ValueError),
    (lambda: windows.general_cosine(3, a=[]), ValueError),
    (lambda: windows.general_cosine(3, a=1.0), TypeError),
    (lambda: windows.hann(3, True), TypeError),
]


@pytest.mark.parametrize("call, error", REFUSED)
def test_refused(call, error):
    with pytest.raises(error):
        call()


def test_outside_of_a_compiled_function():
    weights = windows.hann(4)
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x * weights, backend=counter, fullgraph=True)
    assert compiled(torch.ones(4)).tolist() == weights.tolist() and counter.frame_count == 1
