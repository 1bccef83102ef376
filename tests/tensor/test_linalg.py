"""torch.linalg's factorizations: what they satisfy, and gradients by finite differences; both in compiled code."""

import math

import numpy as np
import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

linalg = torch.linalg


def matrices(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def well_conditioned(*shape, seed=0):
    return matrices(*shape, seed=seed) + 3 * torch.eye(shape[-1], dtype=torch.float64)


def positive_definite(*shape, seed=0):
    a = matrices(*shape, seed=seed)
    return a @ a.mT + torch.eye(shape[-1], dtype=torch.float64)


def close(a, b):
    return torch.allclose(a, b, rtol=1e-9, atol=1e-9)


BATCHES = [(3, 3), (2, 3, 3), (2, 1, 4, 4), (0, 3, 3), (1, 1)]


# --- what the results satisfy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", BATCHES)
def test_inverses_and_solutions(shape):
    a = well_conditioned(*shape)
    one = torch.eye(shape[-1], dtype=torch.float64).expand(shape)
    assert close(linalg.inv(a) @ a, one) and close(torch.inverse(a), a.inverse())
    b = matrices(*shape[:-1], 2, seed=1)
    assert close(a @ linalg.solve(a, b), b)
    assert close(linalg.solve(a, b.mT, left=False) @ a, b.mT)
    v = matrices(*shape[:-1], seed=2)
    assert linalg.solve(a, v).shape == v.shape and close((a @ linalg.solve(a, v).unsqueeze(-1)).squeeze(-1), v)


@pytest.mark.parametrize("shape", BATCHES)
def test_determinants(shape):
    a = matrices(*shape)
    assert np.allclose(linalg.det(a).numpy(), np.linalg.det(a.numpy()))
    sign, logarithm = linalg.slogdet(a)
    assert close(sign * logarithm.exp(), linalg.det(a))
    s = positive_definite(*shape)
    assert close(s.logdet(), torch.slogdet(s).logabsdet)


@pytest.mark.parametrize("shape", BATCHES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(shape, upper):
    s = positive_definite(*shape)
    factor = linalg.cholesky(s, upper=upper)
    assert close(factor.mT @ factor if upper else factor @ factor.mT, s)
    assert close(factor, factor.triu() if upper else factor.tril())
    b = matrices(*shape[:-1], 2, seed=1)
    assert close(torch.cholesky_solve(b, factor, upper), linalg.solve(s, b))
    assert close(factor.cholesky_inverse(upper), linalg.inv(s))


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems_read_their_triangle_only(upper, left, unit):
    a, b = well_conditioned(2, 3, 3), matrices(3, 3, seed=1)
    x = linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)
    triangle = a.triu() if upper else a.tril()
    if unit:
        triangle = triangle - triangle.diagonal(dim1=-2, dim2=-1).diag_embed() + torch.eye(3, dtype=torch.float64)
    assert close(triangle @ x if left else x @ triangle, b.expand(2, 3, 3))


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 2, 4), (0, 2, 3)])
def test_decompositions(shape):
    a = matrices(*shape)
    k = min(shape[-2:])
    for full in (False, True):
        u, s, vh = linalg.svd(a, full_matrices=full)
        assert close(u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :], a)
        assert u.shape[-1] == (shape[-2] if full else k) and vh.shape[-2] == (shape[-1] if full else k)
    assert close(linalg.svdvals(a), s)
    u, s, v = torch.svd(a)
    assert close(u * s.unsqueeze(-2) @ v.mT, a)
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(a, mode)
        assert close(q @ r, a) and close(r, r.triu())
    assert close(linalg.qr(a, "r").R, linalg.qr(a).R)
    pseudo = linalg.pinv(a)
    assert close(a @ pseudo @ a, a) and close(pseudo @ a @ pseudo, pseudo)


@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigenvalues_read_one_triangle(triangle):
    a = matrices(2, 3, 3)
    values, vectors = linalg.eigh(a, triangle)
    s = a.tril() + a.tril(-1).mT if triangle == "L" else a.triu() + a.triu(1).mT
    assert close(vectors * values.unsqueeze(-2) @ vectors.mT, s)
    assert bool((values.diff(dim=-1) >= 0).all()) and close(linalg.eigvalsh(a, triangle), values)


def test_exponentials():
    a = torch.tensor([[0.0, -2.0], [2.0, 0.0]], dtype=torch.float64)
    turned = torch.tensor([[np.cos(2), -np.sin(2)], [np.sin(2), np.cos(2)]])
    assert close(linalg.matrix_exp(a), turned)
    d = torch.diag_embed(matrices(4, 3) * 5)
    assert torch.allclose(linalg.matrix_exp(d), torch.diag_embed(d.diagonal(dim1=-2, dim2=-1).exp()), rtol=1e-10)


def test_norms_and_ranks_of_singular_values():
    a = matrices(2, 3, 4)
    s = linalg.svdvals(a)
    assert close(linalg.matrix_norm(a, 2), s.amax(-1)) and close(linalg.matrix_norm(a, -2), s.amin(-1))
    assert close(linalg.norm(a, "nuc", dim=(1, 2)), s.sum(-1))
    assert linalg.matrix_norm(a, 2, dim=(0, 2), keepdim=True).shape == (1, 3, 1)
    assert close(linalg.norm(a[0], 2), s[0].amax()) and close(linalg.norm(a[0, 0], 2), a[0, 0].square().sum().sqrt())
    low = a.mT[..., :2] @ a[..., :2, :]
    assert linalg.matrix_rank(low).tolist() == [2, 2]
    assert linalg.matrix_rank(a[0], atol=float(s[0, 1])).item() == 1
    assert close(linalg.cond(a), s[..., 0] / s[..., -1])
    square = well_conditioned(3, 3)
    for p in ("fro", "nuc", 1, -1, float("inf")):
        assert close(linalg.cond(square, p), linalg.matrix_norm(square, p) * linalg.matrix_norm(linalg.inv(square), p))
    assert linalg.cond(torch.ones(2, 2), 1).item() == float("inf")


def test_tensors_as_matrices():
    a = matrices(4, 2, 2)
    assert torch.allclose(
        torch.tensordot(linalg.tensorinv(a, 1), a, 1), torch.eye(4, dtype=torch.float64).reshape(2, 2, 2, 2)
    )
    b = matrices(2, 2, seed=1)
    assert close(torch.tensordot(matrices(2, 2, 4), linalg.tensorsolve(matrices(2, 2, 4), b), 1), b)
    assert linalg.vander(torch.tensor([2, 3]), N=3).tolist() == [[1, 2, 4], [1, 3, 9]]


def test_least_squares():
    a, b = matrices(5, 3), matrices(5, 2, seed=1)
    found = linalg.lstsq(a, b)
    assert np.allclose(found.solution.numpy(), np.linalg.lstsq(a.numpy(), b.numpy(), rcond=None)[0])
    assert found.rank.item() == 3 and found.residuals.numel() == 0
    with pytest.raises(RuntimeError, match="driver"):
        linalg.lstsq(a, b, driver="gesv")


# --- gradients --------------------------------------------------------------------------------------------------------

DIFFERENTIABLE = {
    "inv": (linalg.inv, [well_conditioned(2, 3, 3)]),
    "det": (linalg.det, [matrices(2, 3, 3)]),
    "logabsdet": (lambda a: linalg.slogdet(a)[1], [matrices(3, 3)]),
    "solve": (linalg.solve, [well_conditioned(2, 3, 3), matrices(3, 2, seed=1)]),
    "solve vector": (linalg.solve, [well_conditioned(3, 3), matrices(3, seed=1)]),
    "triangular": (
        lambda a, b: linalg.solve_triangular(a, b, upper=True),
        [well_conditioned(3, 3), matrices(2, 3, 2, seed=1)],
    ),
    "unit triangular": (
        lambda a, b: linalg.solve_triangular(a, b, upper=False, left=False, unitriangular=True),
        [matrices(3, 3), matrices(2, 3, seed=1)],
    ),
    "cholesky": (lambda a: linalg.cholesky(a @ a.mT + torch.eye(3).double()), [matrices(2, 3, 3)]),
    "cholesky solve": (lambda b, a: torch.cholesky_solve(b, a), [matrices(3, 2), well_conditioned(3, 3, seed=1)]),
    "exponential": (torch.matrix_exp, [matrices(2, 3, 3)]),
    "pinv tall": (linalg.pinv, [matrices(4, 2)]),
    "pinv wide": (linalg.pinv, [matrices(2, 2, 4)]),
    "eigenvalues": (lambda a: linalg.eigvalsh(a + a.mT), [matrices(2, 3, 3)]),
    "projections": (lambda a: linalg.eigh(a + a.mT)[1].square(), [matrices(3, 3)]),
    "singular values": (linalg.svdvals, [matrices(2, 3, 4)]),
    "singular vectors tall": (lambda a: torch.cat([t.square() for t in linalg.svd(a, False)[::2]]), [matrices(4, 2)]),
    "singular vectors wide": (lambda a: linalg.svd(a, False)[2].square(), [matrices(2, 4)]),
    "qr tall": (lambda a: torch.cat(list(linalg.qr(a))), [matrices(4, 3)]),
    "qr wide": (lambda a: torch.cat(list(linalg.qr(a)), -1), [matrices(2, 2, 3)]),
    "nuclear": (lambda a: linalg.matrix_norm(a, "nuc"), [matrices(2, 3, 3)]),
    "lstsq": (lambda a, b: linalg.lstsq(a, b).solution, [matrices(4, 2), matrices(4, 3, seed=1)]),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_both_orders(name):
    function, values = DIFFERENTIABLE[name]
    inputs = [v.clone().requires_grad_() for v in values]
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_compiled_gradients(name):
    function, values = DIFFERENTIABLE[name]
    torch._dynamo.reset()
    compiled = torch.compile(lambda *inputs: (function(*inputs) * 2).sum(), fullgraph=True)
    plain = [v.clone().requires_grad_() for v in values]
    inputs = [v.clone().requires_grad_() for v in values]
    expected = (function(*plain) * 2).sum()
    got = compiled(*inputs)
    assert close(got, expected)
    expected.backward()
    got.backward()
    assert all(close(a.grad, b.grad) for a, b in zip(inputs, plain))


def test_values_alone_bring_gradients_where_vectors_have_none():
    a = (2 * torch.eye(3, dtype=torch.float64)).requires_grad_()
    linalg.eigh(a)[0].sum().backward()
    linalg.svd(a)[1].sum().backward()
    assert close(a.grad, 2 * torch.eye(3, dtype=torch.float64))


def test_gradient_of_a_singular_determinant():
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64, requires_grad=True)
    linalg.det(a).backward()
    assert close(a.grad, torch.tensor([[4.0, -2.0], [-2.0, 1.0]], dtype=torch.float64))


def test_where_qr_has_no_derivative():
    for mode, match in (("r", "'r'"), ("complete", "complete")):
        a = matrices(3, 2).requires_grad_()
        with pytest.raises(RuntimeError, match=match):
            linalg.qr(a, mode)[1].sum().backward()


def test_a_call_is_one_node():
    counter = CompileCounter()
    torch.compile(lambda a: linalg.inv(a + 1) * 2, backend=counter, fullgraph=True)(well_conditioned(3, 3))
    assert (counter.frame_count, counter.op_count) == (1, 3)


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_matrices_without_a_result():
    singular = torch.ones(2, 2)
    for call in (linalg.inv, lambda a: linalg.solve(a, torch.ones(2)), lambda a: linalg.cholesky(-a)):
        with pytest.raises(linalg.LinAlgError):
            call(singular)
    both = torch.stack([torch.eye(2), -torch.eye(2)])
    factor, info = linalg.cholesky_ex(both)
    assert info.tolist() == [0, 1] and info.dtype is torch.int32 and factor[0].tolist() == torch.eye(2).tolist()
    assert linalg.inv_ex(singular).info.item() == 2  # the second pivot is zero
    assert linalg.slogdet(singular).logabsdet.item() == -float("inf")
    assert torch.logdet(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).isnan().item()


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda: linalg.inv(torch.ones(2, 3)), RuntimeError, "square"),
        (lambda: linalg.inv(torch.ones(2)), RuntimeError, "at least 2 dimensions"),
        (lambda: linalg.inv(torch.ones(2, 2).long()), RuntimeError, "floating"),
        (lambda: linalg.inv(torch.ones(2, 2).half()), RuntimeError, "Low precision"),
        (lambda: linalg.inv([[1.0]]), TypeError, "must be Tensor"),
        (lambda: linalg.inv(torch.eye(2), out=torch.empty(2, 2).double()), RuntimeError, "dtype"),
        (lambda: linalg.solve(torch.eye(3), torch.ones(2, 2)), RuntimeError, "Incompatible shapes"),
        (lambda: linalg.solve(torch.eye(3), torch.ones(3, 2).double()), RuntimeError, "dtype"),
        (lambda: linalg.eigh(torch.eye(2), "x"), RuntimeError, "UPLO"),
        (lambda: linalg.qr(torch.eye(2), "x"), RuntimeError, "mode"),
        (lambda: linalg.cond(torch.eye(2), "x"), RuntimeError, "invalid norm"),
        (lambda: linalg.norm(torch.ones(2), "nuc"), RuntimeError, "2 dimensions"),
        (lambda: linalg.norm(torch.ones(2, 2, 2), "nuc"), RuntimeError, "1D or 2D"),
    ],
)
def test_wrong_arguments(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_dtypes_and_devices():
    assert linalg.inv(torch.eye(2)).dtype is torch.float32
    assert linalg.svd(torch.ones(2, 3, device="meta"))[0].shape == (2, 2)


@pytest.mark.parametrize(
    "shapes, whole",
    [(((2, 1), (3,)), (2, 3)), (((), (4, 1)), (4, 1)), ((3, (2, 1)), (2, 3)), (((0, 1), (1, 5)), (0, 5)), ((), ())],
)
def test_broadcast_shapes(shapes, whole):
    assert torch.broadcast_shapes(*shapes) == torch.Size(whole)


def test_shapes_that_do_not_broadcast():
    with pytest.raises(RuntimeError, match="do not broadcast"):
        torch.broadcast_shapes((2,), (3,))


def test_nan_and_infinite_elements():
    """NaN is refused where the elements are read, infinite ones make results NaN, matrix by matrix; as in torch."""
    good = torch.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    above, below, infinite = good.clone(), good.clone(), good.clone()
    above[0, 1] = below[1, 0] = math.nan
    infinite[1, 1] = math.inf
    values = torch.linalg.eigvalsh(good)
    assert torch.equal(torch.linalg.eigvalsh(above), values)
    assert torch.allclose(torch.linalg.eigvalsh(below, UPLO="U"), values)
    assert torch.linalg.matrix_rank(above, hermitian=True) == 3
    assert torch.allclose(torch.linalg.pinv(above, hermitian=True), torch.linalg.inv(good), atol=1e-5)
    for call in (torch.linalg.eigvalsh, torch.linalg.svd, torch.linalg.svdvals, torch.linalg.pinv, torch.linalg.eig):
        with pytest.raises(torch.linalg.LinAlgError):
            call(below)
    both = torch.stack([good, infinite])
    for call in (torch.linalg.eigvalsh, torch.linalg.svdvals, torch.linalg.pinv):
        found = call(both)
        assert torch.allclose(found[0], call(good), atol=1e-5) and bool(found[1].isnan().all())
    assert bool(torch.linalg.cond(infinite).isnan()) and bool(torch.linalg.matrix_norm(infinite, 2).isnan())
    sign, logarithm = torch.linalg.slogdet(above)
    assert sign == 0 and bool(logarithm.isnan())
    assert torch.linalg.norm(torch.zeros(0, 3), 2) == 0
