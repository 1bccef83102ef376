"""Weights that stay orthogonal: a map of skew-symmetric matrices to rotations, from where the weight began."""

from ... import _C, linalg
from ...autograd.grad_mode import no_grad
from ..module import Module
from .parametrize import register_parametrization

_MAPS = ("matrix_exp", "cayley", "householder")


def _made_orthogonal(matrix):
    """The nearest by QR: R has a positive diagonal."""
    q, r = linalg.qr(matrix)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(matrix):
    size = matrix.shape[-1]
    product = matrix.mT @ matrix
    tolerance = 10.0 * size * (1.2e-7 if matrix.dtype == _C.float32 else 2.3e-16)
    return bool((product - _C.eye(size, dtype=matrix.dtype, device=matrix.device)).abs().max() <= tolerance)


class Orthogonal(Module):
    """A matrix to one with orthonormal columns (rows, if it is wide): `base` times the image of X - X.T."""

    def __init__(self, weight, orthogonal_map, use_trivialization=True):
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):  # noqa: N803  torch's name
        wide = X.shape[-2] < X.shape[-1]
        if wide:
            X = X.mT  # noqa: N806
        rows, columns = X.shape[-2:]
        lower = X.tril()
        if rows != columns:
            lower = _C.cat([lower, lower.new_zeros((*lower.shape[:-2], rows, rows - columns))], -1)
        skew = lower - lower.mT
        if self.orthogonal_map == "cayley":
            unit = _C.eye(rows, dtype=skew.dtype, device=skew.device)
            turned = linalg.solve(unit + skew * -0.5, unit + skew * 0.5)
        else:
            turned = linalg.matrix_exp(skew)
        if getattr(self, "base", None) is not None:
            turned = self.base @ turned
        turned = turned[..., :columns]
        return turned.mT if wide else turned

    @no_grad()
    def right_inverse(self, Q):  # noqa: N803  torch's name
        """What maps to this matrix, after it was made orthogonal."""
        if Q.shape != self.shape:
            raise ValueError(f"a matrix of sizes {tuple(self.shape)} is expected, got {tuple(Q.shape)}")
        if not hasattr(self, "base"):
            raise NotImplementedError("without trivialization a weight has no known preimage; use_trivialization=True")
        wide = Q.shape[-2] < Q.shape[-1]
        tall = Q.mT if wide else Q
        rows, columns = tall.shape[-2:]
        if rows != columns:
            rest = _C.randn(*tall.shape[:-2], rows, rows - columns, dtype=tall.dtype, device=tall.device)
            self.base = _made_orthogonal(_C.cat([tall, rest], -1))
        else:
            self.base = tall.clone() if _is_orthogonal(tall) else _made_orthogonal(tall)
        preimage = _C.zeros_like(Q)
        preimage.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return preimage


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """The module, its weight orthogonal from here on, by `matrix_exp` unless "cayley" is named."""
    weight = getattr(module, name, None)
    if not isinstance(weight, _C.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    chosen = "matrix_exp" if orthogonal_map is None else orthogonal_map
    if chosen not in _MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {chosen}')
    return register_parametrization(module, name, Orthogonal(weight, chosen, use_trivialization), unsafe=True)
