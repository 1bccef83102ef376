"""Kullback-Leibler divergences within a family. Functions are registered, and called by kl_divergence(p, q)."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..autograd.backward import grad as _grad
from ..nn.functional import logsigmoid
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .factorization import log_determinant_of_factor, mahalanobis, solve_triangular
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl_registry import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    low_rank_log_determinant,
    low_rank_mahalanobis,
)
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant


def infinite_where(condition, value):
    """`value`, and inf where `condition` holds."""
    condition, value = _C.broadcast_tensors(condition, value)
    return value.masked_fill(condition, float("inf"))


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    ones = p.probs * (logsigmoid(p.logits) - logsigmoid(q.logits))
    zeros = (1 - p.probs) * (logsigmoid(-p.logits) - logsigmoid(-q.logits))
    ones = infinite_where(q.probs == 0, ones)
    zeros = infinite_where(q.probs == 1, zeros)
    return ones.masked_fill(p.probs == 0, 0) + zeros.masked_fill(p.probs == 1, 0)


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    p_total, q_total = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    log_p = p_total.lgamma() - p.concentration1.lgamma() - p.concentration0.lgamma()
    log_q = q_total.lgamma() - q.concentration1.lgamma() - q.concentration0.lgamma()
    return (
        (log_p - log_q)
        + (p.concentration1 - q.concentration1) * p.concentration1.digamma()
        + (p.concentration0 - q.concentration0) * p.concentration0.digamma()
        + (q_total - p_total) * p_total.digamma()
    )


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    """inf where p has more trials. NotImplementedError if q has: a sum without closed form."""
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL of Binomials is not there for a total_count of q above that of p")
    per_trial = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return infinite_where(p.total_count > q.total_count, p.total_count * per_trial)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    terms = infinite_where(q.probs == 0, p.probs * (p.logits - q.logits))
    return terms.masked_fill((p.probs == 0).expand(terms.shape), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    """Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions"."""
    squared = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return squared.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    normalizers = p._cont_bern_log_norm() - q._cont_bern_log_norm()
    return p.mean * (p.logits - q.logits) + normalizers + (-p.probs).log1p() - (-q.probs).log1p()


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    normalizers = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return normalizers + ((a - b) * (a.digamma() - a.sum(-1, True).digamma())).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """Bregman divergence of the log-normalizer F: F(q) - F(p) - <q - p, F'(p)>. For one family only."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"no KL divergence is registered for {type(p).__name__} and {type(q).__name__}: register_kl adds one"
        )
    p_params = [param.detach().requires_grad_() for param in p._natural_params]
    normalizer = p._log_normalizer(*p_params)
    gradients = _grad(normalizer.sum(), p_params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for p_param, q_param, gradient in zip(p_params, q._natural_params, gradients):
        result = result - _sum_rightmost((q_param - p_param) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    a, b = p.concentration, q.concentration
    normalizers = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma()
    return normalizers + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = ((1 + ratio).lgamma() - shift).exp()
    return -ratio.log() + shift + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio, off = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + off / q.scale + ratio * (-off / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


def _trace_of_solved(factor, root):
    """trace of (L L^T)^-1 R R^T, for factors L (..., n, n) and R (..., n, k)."""
    return solve_triangular(factor, root).square().sum((-2, -1))


def _check_same_events(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL needs vectors of the same size: those of p have shape {tuple(p.event_shape)}, those of q "
            f"{tuple(q.event_shape)}"
        )


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    _check_same_events(p, q)
    p_factor, q_factor = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    half = log_determinant_of_factor(q_factor) - log_determinant_of_factor(p_factor)
    trace = _trace_of_solved(q_factor, p_factor)
    squared = mahalanobis(q_factor, q.loc - p.loc)
    return half + 0.5 * (trace + squared - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p, q):
    _check_same_events(p, q)
    factor = p._unbroadcasted_scale_tril
    return _kl_to_low_rank(p, q, 2 * log_determinant_of_factor(factor), [factor])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p, q):
    _check_same_events(p, q)
    diagonal = p._unbroadcasted_cov_diag.sqrt()
    return _kl_to_low_rank(p, q, p._log_determinant(), [p._unbroadcasted_cov_factor, _C.diag_embed(diagonal)])


def _kl_to_low_rank(p, q, p_log_det, roots):
    """For normal p with covariance the sum of R R^T over `roots` R (..., n, k)."""
    factor, diagonal = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    scaled = factor.mT / diagonal.unsqueeze(-2)
    trace = 0.0
    for root in roots:
        trace = trace + (root.square() / diagonal.unsqueeze(-1)).sum((-2, -1))
        trace = trace - _trace_of_solved(q._capacitance_tril, scaled @ root)
    log_det = low_rank_log_determinant(diagonal, q._capacitance_tril)
    squared = low_rank_mahalanobis(factor, diagonal, q.loc - p.loc, q._capacitance_tril)
    return 0.5 * (log_det - p_log_det + trace + squared - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p, q):
    _check_same_events(p, q)
    factor = q._unbroadcasted_scale_tril
    roots = [p._unbroadcasted_cov_factor, _C.diag_embed(p._unbroadcasted_cov_diag.sqrt())]
    trace = sum([_trace_of_solved(factor, root) for root in roots])
    squared = mahalanobis(factor, q.loc - p.loc)
    log_dets = 2 * log_determinant_of_factor(factor) - p._log_determinant()
    return 0.5 * (log_dets + trace + squared - p.event_shape[0])


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return infinite_where(p.scale < q.scale, result)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    """The same transforms change nothing. NotImplementedError for others."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL of transformed distributions is there for the same transforms only")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return infinite_where((q.low > p.low) | (q.high < p.high), result)


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL of Independents is there for the same reinterpreted_batch_ndims only")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


__getattr__ = _absent_names(__name__)
