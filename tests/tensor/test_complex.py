"""Complex tensors and Fourier transforms: values, dtypes, texts and gradients as torch's, plain and compiled whole."""

import json
import warnings

import numpy as np
import pytest
from tests.tensor import complex_programs
from tests.tensor.complex_programs import alike, run

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

RECORDED = json.loads(complex_programs.RECORD.read_text())
# What leaves the graph: sizes, branches and Python values that depend on elements, files, optimisers made inside.
IN_PARTS = (
    "nonzero", "x > 0]", "masked_select", "allclose", "equal(", "item()", "tolist", "complex(z[0])", "complex(v)",
    "f\"{",
    "result_type", "jacobian(", "torch.save", "gradcheck", "assert_close", "Parameter", "storage()", ".type()",
    "set_default", "sparse", "bool(", "dlpack", "_is_view", "np.complex", "np.array", "float(", "out=a",
    "unique", "Linear(", "a.real =", "a.imag =", "torch.optim",
)  # fmt: skip


def test_every_program_is_recorded():
    assert list(RECORDED) == complex_programs.programs()


@pytest.mark.parametrize("start", range(0, len(RECORDED), 20))
def test_plain_values_are_torchs(start):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program, theirs in list(RECORDED.items())[start : start + 20]:
            ours = run(torch, program)
            assert alike(ours, theirs), (program, ours, theirs)


@pytest.mark.parametrize("start", range(0, len(RECORDED), 20))
def test_compiled_ones_are_one_graph_with_the_same_values(start):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program, theirs in list(RECORDED.items())[start : start + 20]:
            refused = isinstance(theirs, list) and theirs[0] == "error"
            if refused or any(part in program for part in IN_PARTS):
                continue
            # is_conj() gives a bool, at which a graph breaks by default (GB0208), as in torch 2.13.
            with torch._dynamo.config.patch(trace_more="is_conj(" in program):
                ours = run(torch, program, lambda f: torch.compile(f, fullgraph=True))
            assert alike(ours, theirs), (program, ours, theirs)


def test_a_complex_graph_is_counted_once():
    def f(z, w):
        return (z * w.conj() + 2j).abs().sum() + torch.fft.fft(z).real.sum()

    counter = CompileCounter()
    z, w = torch.randn(5, dtype=torch.complex64), torch.randn(5, dtype=torch.complex64)
    assert torch.equal(torch.compile(f, backend=counter, fullgraph=True)(z, w), f(z, w))
    assert counter.frame_count == 1


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12, 31, 37, 64, 74, 97, 210, 1009])
def test_transforms_of_any_length_are_numpys(n):
    values = np.random.default_rng(n).standard_normal((3, n, 2)).view(np.complex128)[..., 0]
    ours = torch.from_numpy(values)
    for name in ("fft", "ifft", "hfft"):
        assert np.allclose(getattr(torch.fft, name)(ours, n).numpy(), getattr(np.fft, name)(values, n), atol=1e-12 * n)
    assert np.allclose(torch.fft.rfft(ours.real).numpy(), np.fft.rfft(values.real), atol=1e-12 * n)
    assert np.allclose(torch.fft.irfft(ours, n).numpy(), np.fft.irfft(values, n), atol=1e-12 * n)


def test_views_of_parts_share_memory():
    z = torch.zeros(3, dtype=torch.complex64)
    torch.view_as_real(z)[0, 1] = 2
    z.real[1], z.imag[2] = 5, 7
    assert z.tolist() == [2j, 5 + 0j, 7j]
    assert z.conj_physical_().tolist() == [-2j, 5 + 0j, -7j]
    pairs = torch.zeros(2, 2)
    torch.view_as_complex(pairs).add_(1 + 2j)
    assert pairs.tolist() == [[1, 2], [1, 2]]


def test_numpy_arrays_are_arguments_of_compiled_functions():
    @torch.compile(fullgraph=True)
    def f(a):
        return np.abs(a * 1j + a.conj()) + a.real - a.imag

    a = np.array([1 + 2j, -3j, 0.5], dtype=np.complex64)
    assert np.allclose(f(a), np.abs(a * 1j + a.conj()) + a.real - a.imag) and f(a).dtype == np.float32


def test_random_numbers_have_variance_1():
    torch.manual_seed(0)
    z = torch.randn(20_000, dtype=torch.complex128)
    w = torch.empty(20_000, dtype=torch.complex64).normal_()
    assert abs(w.abs().square().mean().item() - 1) < 0.05
    assert abs(z.abs().square().mean().item() - 1) < 0.05 and abs(z.real.var().item() - 0.5) < 0.03


def test_what_is_not_defined_is_refused():
    z = torch.ones(2, dtype=torch.complex64)
    for f in (torch.floor, torch.sort, torch.erf, lambda a: a < a, lambda a: a.clamp(0), lambda a: a.max(0)):
        with pytest.raises(RuntimeError, match="complex|ComplexFloat"):
            f(z)
    with pytest.raises(RuntimeError, match="real scalar outputs"):
        (z.requires_grad_() * 2).sum().backward()


@pytest.mark.parametrize("more", [False, True])
def test_setting_a_part_breaks_unless_more_is_traced(more):
    def f(z, x):
        a = z * 2
        a.real = x
        return a + 1

    z, x = torch.ones(2, dtype=torch.complex64) * 1j, torch.tensor([3.0, 4.0])
    counter = CompileCounter()
    with torch._dynamo.config.patch(trace_more=more):
        assert torch.compile(f, backend=counter)(z, x).tolist() == [4 + 2j, 5 + 2j]
    assert counter.frame_count == (1 if more else 2)
