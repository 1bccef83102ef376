"""torch.distributions.transformed_distribution: draws of a distribution sent through transforms."""

from .._absent import absent_names as _absent_names
from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _as_size, _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of f(X) for X of `base_distribution` and f the `transforms`, one or a list, the first first.

    Its density is p(f^-1(y)) |det df^-1(y)/dy|. The base is expanded, and batch dimensions of it become event
    dimensions, as far as the transforms ask. Raises ValueError for other things than transforms, and if the base has
    fewer dimensions than an event that f takes.
    """

    arg_constraints = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = self._checked_transforms(transforms)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_events = len(base_distribution.event_shape)
        whole = ComposeTransform(self.transforms)
        taken = whole.domain.event_dim
        if len(base_shape) < taken:
            raise ValueError(
                f"the transforms take events of {taken} dimensions, and {base_distribution!r} has a shape of "
                f"{len(base_shape)}, {tuple(base_shape)}"
            )
        shape = whole.forward_shape(base_shape)
        expanded = whole.inverse_shape(shape)
        if tuple(base_shape) != tuple(expanded):
            base_distribution = base_distribution.expand(expanded[: len(expanded) - base_events])
        if taken > base_events:
            base_distribution = Independent(base_distribution, taken - base_events)
        self.base_dist = base_distribution
        cut = len(shape) - whole.codomain.event_dim - max(base_events - taken, 0)
        super().__init__(_as_size(shape[:cut]), _as_size(shape[cut:]), validate_args=validate_args)

    @staticmethod
    def _checked_transforms(transforms):
        if isinstance(transforms, Transform):
            return [transforms]
        if not isinstance(transforms, list):
            raise ValueError(f"transforms has to be a Transform or a list of them, not {transforms!r}")
        for transform in transforms:
            if not isinstance(transform, Transform):
                raise ValueError(f"a list of transforms has something else in it: {transform!r}")
        return transforms

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = _as_size(batch_shape)
        before = batch_shape + self.event_shape
        for transform in reversed(self.transforms):
            before = transform.inverse_shape(before)
        new.base_dist = self.base_dist.expand(before[: len(before) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return self._finish_expanded(new, batch_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        result = self.transforms[-1].codomain
        missing = len(self.event_shape) - result.event_dim
        return constraints.independent(result, missing) if missing > 0 else result

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    def sample(self, sample_shape=()):
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        result, event_dim = 0.0, len(self.event_shape)
        for transform in reversed(self.transforms):
            before = transform.inv(value)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            term = transform.log_abs_det_jacobian(before, value)
            result = result - _sum_rightmost(term, event_dim - transform.domain.event_dim)
            value = before
        return result + _sum_rightmost(self.base_dist.log_prob(value), event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        """F(y) of the base as that of the transformed: 1 - F where the transforms fall."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._transformed(self.base_dist.icdf(self._monotonize_cdf(value)))


__getattr__ = _absent_names(__name__)
