"""Calls of ops by source text, on the operands of `operands()`.

One list serves several tests: every call is captured in one graph without a break and answers as it does eagerly; every
name of the op table occurs in some test of this folder.
"""

import minidynamo as torch


def operands():
    """Fresh operands by name: what a call may mention."""
    count = torch.arange(24.0)
    return {
        "x": (count.reshape(4, 6) - 11.5) / 5,
        "y": (count.reshape(4, 6) * 7 % 13 - 4) / 3,
        "u": (count.reshape(4, 6) - 11.5) / 12,
        "p": (count.reshape(4, 6) + 1) / 3,
        "n": torch.tensor([[1.0, float("nan"), -0.0, 2.0], [float("inf"), -3.0, float("-inf"), 2.0]]),
        "d": torch.linspace(-2, 2, 12, dtype=torch.float64).reshape(3, 4),
        "c": (torch.arange(24.0) * 5 % 7).reshape(2, 3, 4),
        "v": torch.tensor([0.5, -1.5, 2.0]),
        "w": torch.tensor([3.0, 0.25, -1.0]),
        "i": torch.arange(12).reshape(3, 4) - 5,
        "k": torch.arange(12).reshape(3, 4) * 5 % 7,
        "m": torch.arange(12).reshape(3, 4) % 3 == 0,
        "a": torch.arange(9.0).reshape(3, 3) % 4,
        "s": torch.tensor(2.5),
    }


POINTWISE = """
torch.erfc(x) | torch.special.erfc(d) | x.erfc() | torch.asin(u) | torch.arcsin(u) | torch.acos(u) | torch.arccos(u)
torch.atan(x) | torch.arctan(d) | torch.atan2(x, y) | torch.arctan2(y, x) | torch.sinh(x) | torch.cosh(d)
torch.asinh(x) | torch.arcsinh(d) | torch.acosh(p + 1) | torch.arccosh(p + 1) | torch.atanh(u) | torch.arctanh(u)
torch.hypot(x, y) | torch.nn.functional.silu(x) | torch.nn.functional.mish(x) | torch.nn.functional.gelu(x)
torch.nn.functional.gelu(d, approximate='tanh') | torch.nn.functional.logsigmoid(x)
torch.nn.functional.hardsigmoid(x * 3) | torch.nn.functional.hardswish(x * 3) | torch.fmax(n, n.flip(1))
torch.fmin(n, n.flip(1)) | torch.copysign(x, y) | torch.copysign(x, -0.0) | torch.signbit(n) | torch.isposinf(n)
torch.isneginf(n) | torch.heaviside(x, y) | torch.bitwise_left_shift(i, 2) | torch.bitwise_right_shift(i, k) | i << k
i >> 1 | torch.subtract(x, y) | torch.multiply(x, y) | torch.negative(x) | torch.absolute(x) | torch.sgn(n)
torch.fix(x) | torch.less(x, y) | torch.less_equal(x, y) | torch.greater(x, y) | torch.greater_equal(x, y)
torch.not_equal(i, k) | torch.special.expit(x) | torch.special.erf(x) | torch.special.exp2(x) | torch.special.expm1(x)
torch.special.log1p(p) | torch.special.round(x) | torch.clip(x, -1, 1) | x.clip(max=0.5)
torch.nn.functional.softplus(x) | torch.nn.functional.softplus(x, 2, 1) | torch.nn.functional.leaky_relu(x)
torch.nn.functional.leaky_relu(x, 0.2) | torch.nn.functional.elu(x, 0.5) | torch.selu(x) | torch.nn.functional.selu(d)
torch.celu(x, 2.0) | torch.nn.functional.celu(x) | torch.nn.functional.hardtanh(x)
torch.nn.functional.hardtanh(x, -0.5, 0.25) | torch.nn.functional.relu6(x * 5) | torch.threshold(x, 0.1, 20)
torch.nn.functional.threshold(x, 0.1, 20) | torch.prelu(x, torch.tensor([0.25])) | torch.nn.functional.prelu(c, w)
torch.nn.functional.softsign(x) | torch.nn.functional.tanhshrink(x) | torch.nn.functional.softshrink(x, 0.3)
torch.hardshrink(x) | torch.nn.functional.hardshrink(x, 1.0) | torch.nn.functional.glu(x)
torch.nn.functional.glu(x, 0) | torch.nn.functional.relu(x) | torch.nn.functional.sigmoid(x)
torch.nn.functional.tanh(x) | torch.true_divide(i, 4) | torch.divide(x, y)
torch.divide(x, 0.7, rounding_mode='floor') | i.divide(3, rounding_mode='trunc') | torch.frac(x) | torch.positive(x)
torch.lerp(x, y, 0.3) | torch.lerp(x, y, 0.75) | torch.lerp(x, y, u) | torch.addcmul(x, y, p)
torch.addcmul(x, y, p, value=0.5) | torch.addcdiv(x, y, p) | torch.addcdiv(x, y, p, value=-2)
torch.float_power(p, 2.5) | torch.float_power(2, i) | torch.float_power(p, y) | torch.deg2rad(x) | torch.rad2deg(i)
torch.ldexp(x, y) | torch.ldexp(d, i) | torch.ldexp(i, k)
torch.logaddexp(x, y) | torch.logaddexp(n, n) | torch.logaddexp2(x, y) | torch.logit(u.abs()) | torch.logit(u, 0.1)
torch.special.logit(u.abs()) | torch.xlogy(x, p) | torch.xlogy(0, n) | torch.xlogy(x, 2.5) | torch.special.xlogy(n, n)
torch.special.xlog1py(x, p) | torch.special.entr(p - 0.5) | torch.sinc(x) | torch.special.sinc(d)
torch.nan_to_num(n) | torch.nan_to_num(n, 1.0, posinf=7.0) | torch.isreal(x) | x.where(x > 0, y) | i.where(m, 0)
torch.gt(x, y)
"""

FOLDS = """
torch.logsumexp(x, 1) | x.logsumexp((0, 1)) | torch.special.logsumexp(d, -1, True) | torch.logsumexp(n, 0)
torch.softmax(x, 1) | d.softmax(-2) | torch.softmax(i, 0, torch.float64) | torch.special.softmax(x, 0)
torch.softmax(s, 0) | torch.log_softmax(x, -1) | torch.special.log_softmax(x, 0) | torch.nn.functional.softmax(x)
torch.nn.functional.softmax(c, -1) | torch.nn.functional.log_softmax(c, dim=1) | torch.nn.functional.softmin(x, 1)
torch._safe_softmax(x, 1) | torch._safe_softmax(n, 0) | torch._safe_softmax(i, 0, torch.float64)
torch.count_nonzero(i) | i.count_nonzero(1) | torch.count_nonzero(m, (0, 1)) | torch.nansum(n) | n.nansum(1, True)
torch.nansum(i, 0) | torch.nanmean(n, 0) | torch.nanmean(x) | torch.var_mean(x) | torch.var_mean(x, 1, keepdim=True)
torch.var_mean(x, False) | torch.var_mean(d, 0, unbiased=False) | torch.std_mean(x)
torch.std_mean(d, 1, correction=0) | torch.std_mean(x, True) | torch.std_mean(x, 0, False) | torch.aminmax(x)
torch.aminmax(n, dim=1, keepdim=True) | i.aminmax(dim=0) | torch.norm(x) | torch.norm(x, 1) | x.norm(3, 1)
x.norm(p=float('inf'), dim=0, keepdim=True) | torch.norm(x, 'fro', dtype=torch.float64) | torch.norm(d, 0)
torch.linalg.vector_norm(x) | torch.linalg.vector_norm(x, float('-inf'), 1) | torch.linalg.vector_norm(x, 0.5, (0, 1))
torch.linalg.norm(x) | torch.linalg.norm(x, 1) | torch.linalg.norm(x, float('inf'), keepdim=True)
torch.linalg.norm(x, -1, (1, 0)) | torch.linalg.norm(v, 3) | torch.linalg.norm(x, 'fro') | torch.dist(x, y)
x.dist(y, 1) | torch.cdist(x, y) | torch.cdist(x, y, 1.0) | torch.cross(v, w) | torch.cross(c, c * 2 + 1, 1)
torch.linalg.cross(v, w) | torch.diff(x) | torch.diff(i, 2, 0) | torch.diff(m) | torch.diff(v, prepend=w, append=w)
torch.trapezoid(x) | torch.trapezoid(x, dx=0.5, dim=0) | torch.trapz(v, w) | torch.trapezoid(x, p)
torch.cumsum(x, 1) | i.cumsum(0) | torch.cumsum(m, -1) | torch.cumsum(i, 0, dtype=torch.float64) | torch.cumprod(y, 0)
k.cumprod(1) | torch.logcumsumexp(x, 1) | torch.logcumsumexp(n, 0) | torch.cummax(y, 1) | n.cummin(0)
torch.cummin(k, 1) | torch.sort(y) | torch.sort(k, 0, True) | n.sort(1) | torch.sort(y, stable=True, descending=True)
torch.argsort(y, 0) | y.argsort(descending=True) | torch.argsort(k, stable=True) | torch.msort(y) | torch.topk(y, 2)
y.topk(3, 0, largest=False) | torch.kthvalue(y, 2) | y.kthvalue(3, 0, True) | torch.median(y) | torch.median(y, 1)
n.median(0) | k.median(dim=1, keepdim=True) | torch.nanmedian(n) | torch.nanmedian(n, 1) | n.nanmedian(0, True)
torch.quantile(y, 0.3) | torch.quantile(y, 0.5, 1) | y.quantile(torch.tensor([0.1, 0.9]), dim=0, keepdim=True)
torch.quantile(y, torch.tensor([0.25, 0.75])) | torch.quantile(y, 0.4, 1, interpolation='nearest')
torch.quantile(n, 0.5, 0) | torch.quantile(y, 0.3, interpolation='lower')
torch.quantile(y, 0.3, interpolation='higher') | torch.quantile(y, 0.3, interpolation='midpoint')
torch.nanquantile(n, 0.5) | torch.nanquantile(n, torch.tensor([0.2, 0.8]), 1)
torch.gather(y, 1, k[:, :2].clamp(0, 5)) | torch.take_along_dim(y, k.t().argsort(0)[:, :1], 1)
torch.take_along_dim(y, k.argsort(1)) | torch.histc(y, 4) | torch.histc(y, bins=5, min=-1, max=2)
torch.nn.functional.one_hot(k, 7) | torch.argmax(y, 1, keepdim=True) | torch.all(m, (0, 1)) | torch.prod(y, 1)
"""

ARRANGEMENTS = """
torch.diagonal(x) | c.diagonal(1, 0, 2) | torch.diagonal(x, -2) | torch.as_strided(x, (2, 3), (1, 6))
x.as_strided((3,), (2,), 4) | v.unfold(0, 2, 1) | c.unfold(2, 3, 1) | torch.movedim(c, 0, 2)
torch.moveaxis(c, (0, 1), (1, 2)) | torch.swapaxes(c, 0, 1) | c.swapdims(0, -1) | torch.unflatten(x, 1, (2, 3))
x.unflatten(0, (-1, 2)) | torch.ravel(c.transpose(0, 2)) | x.ravel() | torch.broadcast_to(v, (2, 3))
torch.broadcast_tensors(v, a) | x.reshape_as(c) | torch.atleast_1d(s) | torch.atleast_2d(v) | torch.atleast_3d(x)
torch.atleast_1d(s, v) | torch.atleast_2d([s, v]) | torch.atleast_3d(v, x) | torch.tril(x) | x.tril(1) | torch.triu(a)
torch.triu(c, -1) | torch.triu(m) | torch.tril(i.t()) | torch.diag(v) | torch.diag(v, -1) | torch.diag(x, 2)
torch.diag_embed(a) | torch.diag_embed(a, 1) | v.diag_embed(-1, 1, 0) | torch.diagflat(a, 1)
torch.block_diag(a, v, s) | torch.trace(x) | torch.flip(x, (0, 1)) | c.flip(-1) | torch.fliplr(x) | torch.flipud(x)
torch.roll(x, 2) | x.roll((1, -2), (0, 1)) | torch.roll(x, 7, 1) | torch.rot90(x) | torch.rot90(c, 3, (1, 2))
torch.rot90(x, 2) | torch.rot90(x, -3) | v.repeat(2) | v.repeat(2, 3) | x.repeat(1, 2) | torch.tile(x, (2,))
torch.tile(v, (2, 2)) | torch.repeat_interleave(x, 2) | x.repeat_interleave(3, 1) | torch.hstack((v, w))
torch.hstack([x, y]) | torch.vstack((v, w)) | torch.row_stack((v, w)) | torch.dstack((x, y)) | torch.dstack((v, w))
torch.column_stack((v, w)) | torch.column_stack((a, v)) | torch.concat((x, y)) | torch.concatenate((x, y), 1)
torch.tensor_split(x, 3, 1) | torch.tensor_split(x, 4, dim=1) | x.tensor_split((1, 4), 1) | torch.hsplit(x, 2)
torch.hsplit(x, [1, 3]) | torch.hsplit(v, 3) | torch.vsplit(x, 2) | torch.vsplit(x, [1]) | torch.dsplit(c, 2)
torch.dsplit(c, [1, 2]) | torch.meshgrid(v, w, indexing='ij') | torch.meshgrid([v, w], indexing='xy')
torch.cartesian_prod(v, w) | torch.outer(v, w) | torch.ger(v, w) | torch.inner(v, w) | torch.inner(x, y)
torch.inner(v, s) | torch.addmm(a, a, a) | torch.addmm(a, a, a, beta=0.5, alpha=2) | torch.addmv(v, a, w)
torch.baddbmm(c, c[:, :, :3], c, alpha=0.5) | torch.logspace(0, 2, 5) | torch.logspace(-1, 1, 4, 2.0)
torch.tril_indices(3, 4) | torch.tril_indices(3, 3, -1) | torch.triu_indices(3, 4, 1)
torch.triu_indices(2, 3, dtype=torch.int32) | torch.empty_strided((2, 3), (1, 2)).zero_() | x.type_as(i)
x.view_as(c.reshape(4, 6)) | v.expand_as(a) | torch.chunk(x, 4, 1) | torch.select(x, 0, 1) | torch.narrow(x, 1, 2, 3)
x.unbind(0) | a.mv(v) | v.dot(w) | x.new_ones(2, 3) | x.new_full((2,), 7) | torch.rsub(x, y)
torch.rsub(x, y, alpha=2) | torch.isclose(x, y) | torch.clamp_min(x, 0) | x.clamp_max(0.5) | torch.fill(x, 2.5)
torch.bitwise_not(i)
"""

LINEAR = """
torch._lstm_cell(c, c[..., :1])
torch.addbmm(a, c[:, :, :3], c[:, :, 1:]) | a.addbmm(c[:, :, :3], c[:, :, 1:], beta=0.5, alpha=2)
torch.addr(a, v, w) | a.addr(v, w, beta=2, alpha=-1) | torch.vdot(v, w) | v.vdot(w) | torch.tensordot(x, y, 2)
torch.tensordot(x, y.t(), 1) | torch.tensordot(c, c, ([0, 2], [0, 2])) | torch.kron(a, x) | v.kron(w)
torch.einsum('ij,kj->ik', x, y) | torch.einsum('bij,bik->bjk', c, c) | torch.einsum('ii->i', a)
torch.einsum('...j,j', c, x[0, :4]) | torch.chain_matmul(x, y.t(), x) | torch.linalg.multi_dot([x, y.t(), x])
torch.matrix_power(a, 3) | a.matrix_power(0) | torch.linalg.matrix_power(a, 2) | torch.linalg.matmul(a, a)
torch.linalg.vecdot(x, y) | torch.linalg.matrix_norm(x) | torch.linalg.matrix_norm(c, 1)
torch.linalg.matrix_norm(c, float('inf'), (0, 1), True) | torch.nn.functional.conv1d(c, a[:2].reshape(2, 3, 1))
torch.conv1d(c, x[:2, :3].reshape(2, 3, 1), v[:2], 2) | torch.conv2d(c[None], x.reshape(4, 2, 3, 1), padding=1)
torch.conv2d(c, x.reshape(4, 2, 3, 1), padding='same')
torch.nn.functional.conv2d(c, c[:, :2, :2][None], stride=(1, 2))
torch.nn.functional.conv3d(c[None], c[None, None, :, :2]) | torch.conv3d(c[None, None], c[None, None, :1], None, 1, 1)
torch.nn.functional.conv_transpose1d(c, a.reshape(3, 3, 1), v)
torch.conv_transpose1d(c, a.reshape(3, 1, 3), stride=2) | torch.conv_transpose2d(c, x.reshape(2, 4, 3, 1))
torch.nn.functional.conv_transpose2d(c, x.reshape(2, 2, 3, 2), None, 2, 1, 1, dilation=2) | torch.max_pool1d(x, 2)
torch.nn.functional.max_pool1d(x, 3, 1, 1, return_indices=True) | torch.max_pool2d(c, 2)
torch.max_pool3d(c[None], 2) | torch.nn.functional.max_pool2d(c, (2, 1), 1, (1, 0))
torch.max_pool1d_with_indices(x, 2) | torch.nn.functional.max_pool1d_with_indices(x, 2)
torch.nn.functional.max_pool2d_with_indices(c, 2) | torch.nn.functional.max_pool3d_with_indices(c[None], 2)
torch.nn.functional.max_pool3d(c[None], 2, 1) | torch.avg_pool1d(x, 2)
torch.nn.functional.avg_pool1d(x, 3, 2, 1, True, False) | torch.nn.functional.avg_pool2d(c, 2)
torch.nn.functional.avg_pool3d(c[None], 2) | torch.adaptive_avg_pool1d(x, 4) | torch.adaptive_max_pool1d(x, 4)
torch.nn.functional.adaptive_avg_pool1d(x, 1) | torch.nn.functional.adaptive_avg_pool2d(c, (2, None))
torch.nn.functional.adaptive_max_pool1d(x, 4) | torch.nn.functional.adaptive_max_pool2d(c, 2, True)
torch.layer_norm(x, (6,)) | torch.nn.functional.layer_norm(c, (3, 4), eps=0.25) | torch.rms_norm(c, [3, 4])
torch.nn.functional.rms_norm(x, (6,), y[0])
torch.nn.functional.adaptive_max_pool2d_with_indices(c, (2, 3)) | torch.nn.functional.interpolate(c, 7)
torch.nn.functional.interpolate(c[None], scale_factor=1.5, mode='bilinear') | torch.nn.functional.unfold(c, 2)
torch.nn.functional.upsample(c, scale_factor=2, mode='linear', align_corners=True)
torch.nn.functional.fold(x[:, :4], (3, 3), 2) | torch.pixel_shuffle(c.reshape(4, 3, 2), 2)
torch.nn.functional.pixel_shuffle(c.reshape(4, 3, 2), 2) | torch.pixel_unshuffle(x[None], 2)
torch.nn.functional.pixel_unshuffle(x[None], 2) | torch.channel_shuffle(c.reshape(2, 4, 3), 2)
torch.nn.functional.channel_shuffle(c.reshape(2, 4, 3), 2) | torch.erfinv(u) | torch.special.erfinv(u)
torch.lgamma(p) | torch.special.gammaln(p) | torch.digamma(p) | torch.special.digamma(p) | torch.special.psi(p)
torch.i0(x) | torch.special.i0(i) | torch.special.i0e(x) | torch.special.i1(x) | torch.special.i1e(d)
torch.special.erfcx(x) | torch.special.log_ndtr(x) | torch.special.ndtr(x) | torch.special.ndtri(u.abs())
torch.igamma(p, p.flip(0)) | torch.special.gammainc(p, p) | torch.igammac(p, p.flip(0)) | p.igammac(p)
torch.special.gammaincc(p, p) | torch.special.zeta(p + 1, p) | torch.special.zeta(3, d) | torch.special.zeta(p + 1, 2.5)
p.polygamma(1) | d.polygamma(0) | torch.mvlgamma(p + 1, 2) | torch.special.multigammaln(p + 1, 3) | p.mvlgamma(1)
torch.special.airy_ai(x * 4) | torch.special.bessel_j0(x) | torch.special.bessel_j1(d) | torch.special.bessel_y0(p)
torch.special.bessel_y1(p) | torch.special.modified_bessel_i0(x) | torch.special.modified_bessel_i1(i)
torch.special.modified_bessel_k0(p) | torch.special.modified_bessel_k1(p)
torch.special.scaled_modified_bessel_k0(p) | torch.special.scaled_modified_bessel_k1(p)
torch.special.spherical_bessel_j0(x) | torch.special.chebyshev_polynomial_t(u, k[0, 0])
torch.special.chebyshev_polynomial_u(u, 5) | torch.special.chebyshev_polynomial_v(d, k)
torch.special.chebyshev_polynomial_w(0.5, k) | torch.special.shifted_chebyshev_polynomial_t(u, 3)
torch.special.shifted_chebyshev_polynomial_u(u, 12) | torch.special.shifted_chebyshev_polynomial_v(d, k)
torch.special.shifted_chebyshev_polynomial_w(0.5, k) | torch.special.hermite_polynomial_h(x, 3)
torch.special.hermite_polynomial_he(x, 4) | torch.special.laguerre_polynomial_l(x, 3)
torch.special.legendre_polynomial_p(u, 5)
torch.gcd(i, k) | torch.lcm(i, k) | torch.nextafter(x, y) | torch.mode(k, 1) | k.mode(0, True) | torch.mode(n)
"""

IN_PLACE = """
erfc_() | asin_() | arcsin_() | acos_() | arccos_() | atan_() | arctan_() | atan2_(y) | arctan2_(y) | sinh_()
cosh_() | asinh_() | arcsinh_() | acosh_() | arccosh_() | atanh_() | arctanh_() | hypot_(y) | copysign_(y)
subtract_(y) | multiply_(2) | negative_() | absolute_() | sgn_() | fix_() | less_(y) | less_equal_(y) | greater_(y)
greater_equal_(y) | not_equal_(y) | clip_(0, 1) | true_divide_(y) | divide_(0.7, rounding_mode='floor') | frac_()
lerp_(y, 0.3) | lerp_(y, u) | addcmul_(y, p) | addcdiv_(y, p, value=2) | deg2rad_() | rad2deg_() | logit_()
xlogy_(p) | sinc_() | nan_to_num_() | heaviside_(y) | tril_() | triu_(1) | cumsum_(1) | cumprod_(0) | a.addmm_(a, a)
v.addmv_(a, w) | c.baddbmm_(c[:, :, :3], c) | a.addbmm_(c[:, :, :3], c[:, :, 1:]) | a.addr_(v, w) | u.erfinv_()
p.lgamma_() | p.digamma_() | i0_() | p.igamma_(p) | p.igammac_(p) | p.polygamma_(2) | p.mvlgamma_(1)
i.gcd_(k) | i.lcm_(k) | x.nextafter_(y) | i.bitwise_and_(k) | i.bitwise_or_(k)
i.bitwise_xor_(k) | i.bitwise_not_() | i.bitwise_left_shift_(2) | i.bitwise_right_shift_(k) | i.floor_divide_(3)
d.float_power_(2) | m.logical_not_() | abs_() | ceil_() | floor_() | trunc_() | clamp_(0, 1) | clamp_max_(0.5)
clamp_min_(0) | cos_() | sin_() | tan_() | tanh_() | eq_(y) | ne_(y) | lt_(y) | le_(y) | gt_(y) | ge_(y) | erf_()
exp_() | exp2_() | expm1_() | log_() | log2_() | log10_() | log1p_() | floor_divide_(0.7) | fmod_(0.7) | remainder_(y)
logical_and_(y) | logical_or_(y) | logical_xor_(y) | masked_fill_(x > 0, 7) | neg_() | pow_(2) | reciprocal_()
relu_() | rsqrt_() | sqrt_() | square_() | sigmoid_() | sign_() | copy_(y) | copy_(7) | copy_(2.5, True)
copy_(y[0], non_blocking=True) | ldexp_(y) | d.ldexp_(i) | a.fill_diagonal_(7)
d.t().fill_diagonal_(-1, wrap=True) | i.fill_diagonal_(2.5)
"""


def listed(text):
    return [call.strip() for line in text.strip().split("\n") for call in line.split(" | ") if call.strip()]


CALLS = listed(POINTWISE) + listed(FOLDS) + listed(ARRANGEMENTS) + listed(LINEAR)
# Of x unless another operand is named.
IN_PLACE_CALLS = [call if call[1] == "." else f"x.{call}" for call in listed(IN_PLACE)]
