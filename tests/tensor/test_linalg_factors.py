"""LU, LDL and Householder factors, least squares by every driver, low rank: against NumPy, gradients against
differences, inside transforms against loops."""

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo import func, linalg


def matrix(*sizes, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(sizes))


A = matrix(4, 4) + 3 * torch.eye(4, dtype=torch.float64)
COMPLEX = A + 1j * matrix(4, 4, seed=2)
BATCH = torch.stack([A, 2 * A.mT, A @ A.mT])
B = matrix(4, 2, seed=1)

# Functions of a (4, 4) matrix, differentiable in it.
CASES = {
    "lu": lambda a: linalg.lu(a)[1] + linalg.lu(a)[2],
    "lu of more rows": lambda a: linalg.lu(a[:, :2])[1],
    "lu of more columns": lambda a: linalg.lu(a[:2])[2],
    "lu_factor": lambda a: linalg.lu_factor(a).LU,
    "lu_solve": lambda a: linalg.lu_solve(*linalg.lu_factor(a), B.to(a.dtype)),
    "lu_solve transposed": lambda a: linalg.lu_solve(*linalg.lu_factor(a), B.to(a.dtype), adjoint=True),
    "lu_solve from the right": lambda a: linalg.lu_solve(*linalg.lu_factor(a), B.mT.to(a.dtype), left=False),
    "torch.lu_solve": lambda a: torch.lu_solve(B.to(a.dtype), *torch.lu(a)),
    "inv_ex": lambda a: linalg.inv_ex(a).inverse,
    "solve_ex": lambda a: linalg.solve_ex(a, B.to(a.dtype)).result,
    "cholesky_ex": lambda a: linalg.cholesky_ex(a @ a.mH, upper=True).L,
    "householder_product": lambda a: linalg.householder_product(a[:, :2], a[0, :2]),
    "orgqr": lambda a: torch.orgqr(a, a[0, :3]),
    "ormqr": lambda a: a.ormqr(a[0], a, transpose=True),
    "ormqr from the right": lambda a: torch.ormqr(a[:, :2], a[0, :2], a, left=False),
    "lstsq": lambda a: linalg.lstsq(a[:, :2], B.to(a.dtype)).solution,
    "lstsq gels": lambda a: linalg.lstsq(a[:, :2], B.to(a.dtype), driver="gels").solution,
    "lstsq of more columns": lambda a: linalg.lstsq(a[:2], B[:2].to(a.dtype), driver="gels").solution,
    "matrix_power": lambda a: torch.matrix_power(a, -2) + a.matrix_power(2),
    "cholesky_inverse": lambda a: torch.cholesky_inverse(linalg.cholesky(a @ a.mH)),
    "nuclear norm": lambda a: torch.nuclear_norm(a),
    "frobenius norm": lambda a: torch.frobenius_norm(a, (0, 1)),
    "norm_except_dim": lambda a: torch.norm_except_dim(a, 2, 0),
    "cond": lambda a: linalg.cond(a, "fro"),
    "lobpcg": lambda a: torch.lobpcg(a @ a.mT, 1)[0],
}


OF_COMPLEX = [name for name in CASES if name != "lobpcg"]


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    assert torch.autograd.gradcheck(CASES[name], (A.clone().requires_grad_(),))
    assert torch.autograd.gradgradcheck(CASES[name], (A.clone().requires_grad_(),))


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_gradients_of_complex_matrices(name):
    assert torch.autograd.gradcheck(CASES[name], (COMPLEX.clone().requires_grad_(),))


@pytest.mark.parametrize("name", CASES)
def test_compiled(name):
    same(CASES[name], lambda: (A.clone(),), frames=1, breaks=[])
    if name in OF_COMPLEX:
        torch._dynamo.reset()
        same(CASES[name], lambda: (COMPLEX.clone(),), frames=1, breaks=[])


@pytest.mark.parametrize("name", CASES)
def test_transforms(name):
    torch._dynamo.reset()  # jacrev's function is compiled again for each
    f = CASES[name]
    loop = torch.stack([f(a) for a in BATCH])
    assert torch.allclose(func.vmap(f)(BATCH), loop)
    jacobian = func.jacrev(f)(A)
    assert torch.allclose(func.jacfwd(f)(A), jacobian)
    assert torch.allclose(torch.compile(func.jacrev(f), fullgraph=True)(A), jacobian)
    assert torch.allclose(torch.compile(func.vmap(f), fullgraph=True)(BATCH), loop)


def test_factors_make_the_matrix():
    for a in (BATCH, BATCH[..., :3], BATCH[:, :3]):
        p, lower, upper = linalg.lu(a)
        assert torch.allclose(p @ lower @ upper, a)
        assert torch.allclose(lower.diagonal(dim1=-2, dim2=-1), torch.ones(3, min(a.shape[-2:])).double())
        factors, pivots, info = linalg.lu_factor_ex(a)
        assert pivots.dtype is torch.int32 and not info.any()
        assert torch.equal(torch.lu_unpack(factors, pivots).P, p)
    symmetric = BATCH + BATCH.mT
    assert torch.allclose(symmetric @ linalg.ldl_solve(*linalg.ldl_factor(symmetric), B), B.expand(3, 4, 2))
    a, tau = torch.geqrf(BATCH[:, :, :2])
    q, r = linalg.qr(BATCH[:, :, :2])
    assert torch.allclose(linalg.householder_product(a, tau), q) and torch.allclose(a[:, :2].triu(), r)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares(driver):
    tall, right = matrix(2, 5, 3), matrix(2, 5, 2, seed=3)
    found = linalg.lstsq(tall, right, driver=driver)
    assert torch.allclose(found.solution, linalg.pinv(tall) @ right)
    lengths = (tall @ found.solution - right).square().sum(-2)
    assert found.residuals.numel() == 0 if driver == "gelsy" else torch.allclose(found.residuals, lengths)
    assert found.rank.tolist() == ([] if driver == "gels" else [3, 3])
    values = found.singular_values
    assert torch.allclose(values, linalg.svdvals(tall)) if driver in ("gelsd", "gelss") else values.numel() == 0
    wide = tall.mT
    assert torch.allclose(linalg.lstsq(wide, right[:, :3], driver=driver)[0], linalg.pinv(wide) @ right[:, :3])
    vector = linalg.lstsq(tall[0], right[0, :, 0], driver=driver)
    assert vector.solution.shape == (3,)


def test_empty():
    assert [x.shape for x in linalg.lu(torch.empty(2, 0, 3))] == [(2, 0, 0), (2, 0, 0), (2, 0, 3)]
    assert linalg.lu_factor(torch.empty(0, 3, 3))[1].shape == (0, 3)
    assert linalg.inv_ex(torch.empty(0, 3, 3)).info.shape == (0,)
    assert linalg.lstsq(torch.empty(0, 3, 2), torch.empty(0, 3, 1))[0].shape == (0, 2, 1)
    assert linalg.cond(torch.empty(0, 0)).item() == 0


def test_info_and_errors():
    singular = torch.stack([torch.eye(2), torch.tensor([[1.0, 2.0], [2.0, 4.0]])])
    assert linalg.lu_factor_ex(singular).info.tolist() == [0, 2]
    assert linalg.inv_ex(singular).info.tolist() == [0, 2]
    assert linalg.solve_ex(singular, torch.ones(2, 2)).info.tolist() == [0, 2]
    with pytest.raises(linalg.LinAlgError, match=r"inv: \(Batch element 1\): its pivot 2 is zero"):
        linalg.inv(singular)
    with pytest.raises(linalg.LinAlgError, match="Batch element 1"):
        linalg.solve_ex(singular, torch.ones(2, 2), check_errors=True)
    with pytest.raises(RuntimeError, match="lu_factor"):
        linalg.lu_factor(singular)
    for broken in (float("nan"),):
        with pytest.raises(linalg.LinAlgError, match="eigh"):
            linalg.eigh(torch.full((2, 2), broken))
        with pytest.raises(linalg.LinAlgError, match="svd"):
            linalg.svd(torch.full((2, 2), broken))
        with pytest.raises(linalg.LinAlgError, match="pinv"):
            linalg.pinv(torch.full((2, 2), broken))
        with pytest.raises(linalg.LinAlgError, match="cholesky"):
            linalg.cholesky(torch.full((2, 2), broken))
    with pytest.raises(RuntimeError, match="pivoting"):
        linalg.lu(singular, pivot=False)
    with pytest.raises(ValueError, match="3 times"):
        torch.lobpcg(torch.eye(4), k=2)


def test_out():
    out = torch.empty(0, dtype=torch.float64)
    assert linalg.inv(A, out=out) is out and torch.equal(out, linalg.inv(A))
    parts = [torch.empty(0, dtype=torch.float64) for _ in range(3)]
    linalg.lu(A, out=parts)
    assert all(map(torch.equal, parts, linalg.lu(A)))
    with pytest.raises(RuntimeError, match="requires grad"):
        linalg.inv(A.clone().requires_grad_(), out=out)


def test_low_rank():
    torch.manual_seed(0)
    thin = matrix(30, 2) @ matrix(2, 20, seed=1)
    u, s, v = torch.svd_lowrank(thin, q=4)
    assert torch.allclose(u @ s.diag() @ v.mT, thin)
    _, s, _ = torch.pca_lowrank(thin, q=3)
    assert torch.allclose(s[:2], linalg.svdvals(thin - thin.mean(0))[:2])
    values, vectors = torch.lobpcg(A @ A.mT, 1, B=BATCH[2] + torch.eye(4), largest=False)
    assert torch.allclose(A @ A.mT @ vectors, (BATCH[2] + torch.eye(4)) @ vectors * values)


# --- complex matrices -------------------------------------------------------------------------------------------------


def test_complex_factors_make_the_matrix():
    for a in (COMPLEX, COMPLEX[:3], COMPLEX[:, :3]):
        p, lower, upper = linalg.lu(a)
        assert torch.allclose(p.to(a.dtype) @ lower @ upper, a)
        q, r = linalg.qr(a)
        assert torch.allclose(q @ r, a) and torch.allclose(q.mH @ q, torch.eye(q.shape[-1], dtype=a.dtype))
    vectors, tau = torch.geqrf(COMPLEX[:, :3])
    q = linalg.householder_product(vectors, tau)
    assert torch.allclose(q @ vectors[:3].triu(), COMPLEX[:, :3])
    whole = torch.ormqr(vectors, tau, torch.eye(4, dtype=COMPLEX.dtype))
    assert torch.allclose(whole[:, :3], q)
    other = COMPLEX.mT
    assert torch.allclose(torch.ormqr(vectors, tau, other, transpose=True), whole.mH @ other)
    assert torch.allclose(torch.ormqr(vectors, tau, other, left=False), other @ whole)
    assert torch.allclose(torch.ormqr(vectors, tau, other, left=False, transpose=True), other @ whole.mH)


def test_complex_systems():
    b = torch.complex(B, matrix(4, 2, seed=3))
    factors = linalg.lu_factor(COMPLEX)
    assert torch.allclose(COMPLEX @ linalg.lu_solve(*factors, b), b)
    assert torch.allclose(COMPLEX.mH @ linalg.lu_solve(*factors, b, adjoint=True), b)
    assert torch.allclose(linalg.lu_solve(*factors, b.mT, left=False) @ COMPLEX, b.mT)
    for a, hermitian in ((COMPLEX + COMPLEX.mT, False), (COMPLEX + COMPLEX.mH, True)):
        found = linalg.ldl_factor_ex(a, hermitian=hermitian)
        assert not found.info and torch.allclose(a @ linalg.ldl_solve(*found[:2], b, hermitian=hermitian), b)
    assert linalg.inv_ex(torch.zeros(2, 2, dtype=torch.complex64)).info == 1
    assert linalg.cholesky_ex(-torch.eye(2, dtype=torch.complex64)).info == 1
    with pytest.raises(linalg.LinAlgError, match="singular"):
        linalg.solve(torch.zeros(4, 4, dtype=b.dtype), b)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_of_complex_matrices(driver):
    b = torch.complex(B, matrix(4, 2, seed=3))
    for a, right in ((COMPLEX[:, :3], b), (COMPLEX[:2], b[:2])):
        found = linalg.lstsq(a, right, driver=driver)
        assert torch.allclose(found.solution, linalg.pinv(a) @ right)
        assert found.residuals.dtype is found.singular_values.dtype is torch.float64
        if found.residuals.numel():
            assert torch.allclose(found.residuals, (a @ found.solution - right).abs().square().sum(0))
        if found.singular_values.numel():
            assert torch.allclose(found.singular_values, linalg.svdvals(a))


def test_norms_and_ranks_of_complex_matrices():
    a = COMPLEX.numpy()
    for order in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")):
        assert np.isclose(linalg.matrix_norm(COMPLEX, order).item(), np.linalg.norm(a, order))
        assert np.isclose(linalg.cond(COMPLEX, order).item(), np.linalg.cond(a, order))
    low = COMPLEX[:, :2] @ COMPLEX[:2]
    assert linalg.matrix_rank(low) == 2 and linalg.matrix_rank(low @ low.mH, hermitian=True) == 2
    assert torch.allclose(linalg.pinv(low @ low.mH, hermitian=True, rtol=1e-9), linalg.pinv(low @ low.mH, rtol=1e-9))
