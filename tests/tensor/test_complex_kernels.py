"""Compiled graphs with complex numbers: loops over both parts, with the bits, strides and gradients of plain calls."""

import logging

import pytest

import minidynamo as torch
from minidynamo import _logging
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.usefixtures("no_defects")


def written(z, w, x):
    z *= w
    z.real.add_(x)
    z.imag[0] = 2
    z[:, 1] = w[:, 0] * 1j
    return z + 1


def parts_written(z, w, x):
    pairs = torch.stack([x, x * 2], -1)
    numbers = torch.view_as_complex(pairs)
    numbers.mul_(w)
    numbers[0].neg_()
    return pairs, numbers.abs()


def filled(z, w, x):
    out = torch.empty(3, 4, dtype=z.dtype)
    out[0], out[1], out[2] = z[0], 1 + 2j, x[2]
    return out


# Each with the number of loop nests it is compiled to.
ONE_NEST = {
    "arithmetic": lambda z, w, x: (z * w + z.conj() - 2j) / (w + 3),
    "powers": lambda z, w, x: z**2 + z**-1 + z**0.5 + z**w + 2**z,
    "exponentials": lambda z, w, x: (z.exp() + z.log() + z.sqrt()) * torch.expm1(w),
    "sizes": lambda z, w, x: (z.abs() + z.angle(), z.sgn() * w.abs()),
    "real operands": lambda z, w, x: z * x + x / w - x * 1j,
    "parts": lambda z, w, x: (z * w).real + (z + w).imag * x,
    "chosen": lambda z, w, x: torch.where(x > 0, z * w, -z) + torch.where(z == w, z, 1j),
    "compared": lambda z, w, x: (z == w, z != w.conj(), torch.isnan(z) | torch.isinf(w)),
    "made of parts": lambda z, w, x: torch.complex(x, x * 2) * z + torch.polar(x.abs(), x),
    "converted": lambda z, w, x: (x.to(z.dtype) + z, z.to(torch.complex128) * 1.5, (z * w).to(torch.complex64)),
    "turned": lambda z, w, x: (z.T * w.T).exp().T + z,
    "summed": lambda z, w, x: (z * w).sum() + (z - w).mean(),
    "stacked": lambda z, w, x: torch.stack([x + 1, x * 2, x - 3], -1),
    "seen as pairs": lambda z, w, x: torch.view_as_real(z * w),
    "several": lambda z, w, x: (z + w, z * w, z.conj() * 1j),
}
ANY_NESTS = {
    "summed along": lambda z, w, x: (z * w).sum(0, keepdim=True) * z,
    "hyperbolic": lambda z, w, x: z.sinh() * w.cosh() + z.tanh() + z.asinh() + w.acosh() + z.atanh(),
    "circular": lambda z, w, x: z.sin() * w.cos() + z.tan() + z.asin() + w.acos() + z.atan(),
    "product": lambda z, w, x: (z * w + 0.5).prod(1),
    "sliced": lambda z, w, x: (z * w)[:, ::2] * z[:, 1::2] + (z + 1)[:1, ::2],
    "reshaped": lambda z, w, x: (z * w).reshape(-1).view(2, 6).exp() + (z.T.reshape(2, 6)),
    "matrices": lambda z, w, x: (z * 2) @ (w + 1).mH + z[:, :3],
    "transform": lambda z, w, x: torch.fft.fft(z * w).abs() + torch.fft.ifft(z, dim=0).real,
    "positions": lambda z, w, x: (z * w)[torch.tensor([2, 0])] + torch.gather(z, 1, torch.tensor([[0], [1]])),
    "joined": lambda z, w, x: torch.cat([z * 2, w.conj()], 1) * 1j,
    "written": written,
    "parts written": parts_written,
    "filled": filled,
    "spread": lambda z, w, x: (z.var() + w.std(0).sum(), z.norm(), torch.linalg.vector_norm(w, 3, 1)),
    "running": lambda z, w, x: z.cumsum(0) * w.cumprod(1),
    "stacked first": lambda z, w, x: torch.stack([x + 1, x * 2]) * torch.stack([x, x], 1).sum(1),
    "one of a stack": lambda z, w, x: (
        torch.stack([z * 2, w, z + w], 1)[:, 1:] + torch.stack([x, x * 2], 0)[-1][:, None]
    ),
    "broadcast": lambda z, w, x: z[:, :1] * w[:1] + z[0, 0] * x,
    "as it was": lambda z, w, x: (z, z.real, z.T, torch.view_as_real(w)[..., 1]),
    "empty": lambda z, w, x: (z[:0] * w[:0]).sum(0) + (z[:, :0] + 1j).exp().sum(1)[:1],
    "of one": lambda z, w, x: (z[0, 0] * w[1, 1]).exp() / x[0, 0],
}


def operands(dtype, turned):
    made = torch.Generator().manual_seed(3)
    z, w = (torch.randn(3, 4, dtype=dtype, generator=made) for _ in range(2))
    x = torch.randn(3, 4, dtype=dtype.to_real(), generator=made)
    return [a.T.contiguous().T for a in (z, w, x)] if turned else [z, w, x]


def shown(value):
    if isinstance(value, torch.Tensor):
        pairs = torch.view_as_real(value.detach().resolve_conj()) if value.is_complex() else value.detach()
        return str(value.dtype), tuple(value.shape), tuple(value.stride()), pairs.tolist()
    return [shown(v) for v in value]


@pytest.fixture
def nests():
    """Empties, and returns, the texts logged about code and about graphs that are not compiled whole."""
    texts = []
    handler = logging.Handler()
    handler.emit = lambda record: texts.append(record.getMessage())
    _logging.set_logs(output_code=True, perf_hints=True)
    logging.getLogger("minidynamo").addHandler(handler)
    yield texts
    logging.getLogger("minidynamo").removeHandler(handler)
    _logging.set_logs()


@pytest.mark.parametrize("turned", [False, True], ids=["row_major", "turned"])
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=["complex64", "complex128"])
def test_bits_and_strides_are_those_of_plain_calls(nests, dtype, turned):
    for name, f in {**ONE_NEST, **ANY_NESTS}.items():
        torch._dynamo.reset()
        del nests[:]
        plain, given = operands(dtype, turned), operands(dtype, turned)
        compiled = torch.compile(f, fullgraph=True, dynamic=False)
        want = [shown(f(*plain)), shown(plain)]
        got = [shown(compiled(*given)), shown(given)]
        assert repr(got) == repr(want), name
        assert not any("op by op" in text for text in nests), name
        if name in ONE_NEST and not turned:
            assert sum(text.count("define i64 @kernel") for text in nests) == 1, name


def gradients(f, dtype, compiled):
    leaves = [a.requires_grad_() for a in operands(dtype, False)]
    results = compiled(f)(*leaves)
    loss = 0
    for r in results if isinstance(results, tuple) else (results,):
        if r.requires_grad:
            loss = loss + (r * (1 - 0.5j)).real.sum() if r.is_complex() else loss + (r * 1.25).sum()
    loss.backward()
    return [a.grad for a in leaves]


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=["complex64", "complex128"])
def test_gradients_have_the_bits_of_plain_ones(nests, dtype):
    without = {"compared", "written", "positions", "empty"}
    for name, f in {**ONE_NEST, **ANY_NESTS}.items():
        if name in without:
            continue
        torch._dynamo.reset()
        want = gradients(f, dtype, lambda f: f)
        got = gradients(f, dtype, lambda f: torch.compile(f, fullgraph=True, dynamic=False))
        for a, b in zip(want, got):
            assert (a is None) == (b is None), name
            assert a is None or repr(shown(a)) == repr(shown(b)), name
    assert not any("op by op" in text for text in nests)


def test_other_sizes_are_compiled_for_symbols():
    def f(z, x):
        return (z * z.conj()).real.sum(1) * x[:, 0], (z + x).exp()

    counter = CompileCounter()
    for backend in (counter, "llvm"):
        torch._dynamo.reset()
        compiled = torch.compile(f, backend=backend, dynamic=True, fullgraph=True)
        for rows, columns in ((3, 5), (7, 2), (4, 33)):
            z = torch.randn(rows, columns, dtype=torch.complex64)
            x = torch.randn(rows, columns)
            assert repr(shown(compiled(z, x))) == repr(shown(f(z, x)))
    assert counter.frame_count == 1


def test_an_optimiser_steps_complex_parameters_as_it_does_plain():
    def trained(wrap):
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.randn(4, 4, dtype=torch.complex64))
        optimiser = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
        x = torch.randn(8, 4, dtype=torch.complex64)
        loss_of = wrap(lambda: ((x @ weight).tanh() - x.conj()).abs().square().mean())
        losses = []
        for _ in range(5):
            optimiser.zero_grad()
            loss = loss_of()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        return losses, shown(weight)

    plain = trained(lambda f: f)
    assert plain[0][-1] < plain[0][0]
    assert repr(trained(torch.compile)) == repr(plain)


def test_results_say_whether_they_are_conjugate():
    @torch.compile
    def f(z):
        y = z.conj()
        return y, y.T, y.conj(), y + 1, z.mH, z.conj_physical(), y[:1], y.reshape(4, 1), y.contiguous(), y.clone()

    found = f(torch.ones(2, 2, dtype=torch.complex64) * 1j)
    assert [y.is_conj() for y in found] == [True, True, False, False, True, False, True, True, True, False]
    assert [y[0, 0].item() for y in found] == [-1j, -1j, 1j, 1 - 1j, *[-1j] * 6]
