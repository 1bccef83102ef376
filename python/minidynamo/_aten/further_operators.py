"""Operators of torch that several functions of this package make together, or one with other arguments and results."""

from .. import _C


def _functional():
    from ..nn import functional

    return functional


def _linalg():
    from .. import linalg

    return linalg


def _in_place(name):
    """name_(x, *settings): x becomes what the function makes of it."""
    return lambda x, *args, **kwargs: x.copy_(getattr(_functional(), name)(x.detach().clone(), *args, **kwargs))


def _exact(x, output_size, *factors):
    given = [f for f in factors if f is not None]
    if given:
        return _functional().interpolate(x, scale_factor=given, mode="nearest-exact")
    return _functional().interpolate(x, list(output_size), mode="nearest-exact")


def _smoothed(mode):
    def compute(x, output_size, align_corners, *factors):
        return _functional().interpolate(x, list(output_size), mode=mode, align_corners=align_corners, antialias=True)

    return compute


def _unique2(x, sorted=True, return_inverse=False, return_counts=False):
    made, inverse, counts = _C.unique(x, sorted=sorted, return_inverse=True, return_counts=True)
    nothing = x.new_empty([0], dtype=_C.int64)
    return made, inverse if return_inverse else nothing, counts if return_counts else nothing.clone()


def _unique_consecutive(x, return_inverse=False, return_counts=False, dim=None):
    made, inverse, counts = _C.unique_consecutive(x, return_inverse=True, return_counts=True, dim=dim)
    nothing = x.new_empty([0], dtype=_C.int64)
    return made, inverse if return_inverse else nothing, counts if return_counts else nothing.clone()


def _check_errors(info, api_name, *, is_matrix):
    if bool((info != 0).any()):
        raise _linalg().LinAlgError(f"{api_name}: The algorithm failed: its info is {info.tolist()}")


def _det(A):
    return (_linalg().det(A), *_linalg().lu_factor(A))


def _slogdet(A):
    return (*_linalg().slogdet(A), *_linalg().lu_factor(A))


def _solve_ex(A, B, *, left=True, check_errors=False):
    made, info = _linalg().solve_ex(A, B, left=left, check_errors=check_errors)
    return (made, *_linalg().lu_factor_ex(A)[:2], info)


def _eigh(A, UPLO="L", compute_v=True):
    values, vectors = _linalg().eigh(A, UPLO)
    return values, vectors if compute_v else A.new_empty([0])


def _svd(A, full_matrices=False, compute_uv=True, *, driver=None):
    if compute_uv:
        return tuple(_linalg().svd(A, full_matrices))
    nothing = A.new_empty([0])
    return nothing, _linalg().svdvals(A), nothing.clone()


def _fake_quantize_cachemask(x, scale, zero_point, quant_min, quant_max):
    from ..fake_quantization import fake_quantize_per_tensor_affine

    whole = _C.round(x / scale) + zero_point
    made = fake_quantize_per_tensor_affine(x, scale, zero_point, quant_min, quant_max)
    return made, (whole >= quant_min) & (whole <= quant_max)


def _unpooled(spread):
    """Every element at the place of the result that its index names."""

    def compute(x, indices, output_size, *rest):
        flat = x.new_zeros([*x.shape[:-spread], _C.Size(output_size).numel()])
        made = flat.scatter(-1, indices.flatten(-spread), x.flatten(-spread))
        return made.view([*x.shape[:-spread], *output_size])

    return compute


def _conv_tbc(x, weight, bias, pad=0):
    made = _functional().conv1d(x.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return made.permute(2, 0, 1).contiguous()


def _multilabel_margin_loss(x, target, reduction):
    from .losses import LOSSES

    ends = (target < 0).to(_C.int64).cumsum(-1) > 0
    named = _C.zeros_like(x).scatter_add(-1, target.clamp(min=0), (~ends).to(x.dtype)) > 0
    return LOSSES["multilabel_margin_loss"](x, target, reduction), named.to(x.dtype)


def _lu(A, *, pivot=True):
    return tuple(_linalg().lu(A, pivot=pivot))


def _pinv(A, *, atol=None, rtol=None, hermitian=False):
    return _linalg().pinv(A, atol=atol, rtol=rtol, hermitian=hermitian)


OPERATORS = {
    "elu_": _in_place("elu"),
    "hardtanh_": _in_place("hardtanh"),
    "leaky_relu_": _in_place("leaky_relu"),
    "silu_": _in_place("silu"),
    "mish_": _in_place("mish"),
    "hardswish_": _in_place("hardswish"),
    "hardsigmoid_": _in_place("hardsigmoid"),
    "celu_": _in_place("celu"),
    "selu_": _in_place("selu"),
    "relu6_": _in_place("relu6"),
    "threshold_": _in_place("threshold"),
    "_upsample_nearest_exact1d": _exact,
    "_upsample_nearest_exact2d": _exact,
    "_upsample_nearest_exact3d": _exact,
    "_upsample_bilinear2d_aa": _smoothed("bilinear"),
    "_upsample_bicubic2d_aa": _smoothed("bicubic"),
    "_unique2": _unique2,
    "unique_consecutive": _unique_consecutive,
    "_linalg_check_errors": _check_errors,
    "_linalg_det": _det,
    "_linalg_slogdet": _slogdet,
    "_linalg_solve_ex": _solve_ex,
    "_linalg_eigh": _eigh,
    "_linalg_svd": _svd,
    "linalg_lu": _lu,
    "linalg_pinv": _pinv,
    "fake_quantize_per_tensor_affine_cachemask": _fake_quantize_cachemask,
    "max_unpool2d": _unpooled(2),
    "max_unpool3d": _unpooled(3),
    "conv_tbc": _conv_tbc,
    "multilabel_margin_loss_forward": _multilabel_margin_loss,
    "narrow_copy": lambda x, dim, start, length: x.narrow(dim, start, length).clone(),
    "log_sigmoid_forward": lambda x: (_functional().logsigmoid(x), _C.exp(-x.abs())),
}
