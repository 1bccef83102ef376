"""torch.distributions.distribution: what all distributions have in common."""

import warnings

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import is_compiling as _is_compiling
from ..autograd.grad_mode import no_grad
from . import constraints
from .utils import _as_size, lazy_property

__all__ = ["Distribution"]


class Distribution:
    """Base of distributions: `batch_shape` counts independent ones, `event_shape` is the shape of one's draw.

    batch_shape, event_shape: sizes. Draws have shape sample_shape + batch_shape + event_shape, log-probabilities
    sample_shape + batch_shape.
    validate_args: whether parameters, and the values given to log_prob, cdf and icdf, are checked against
        `arg_constraints` and `support`. None is the default of `set_default_validate_args`: yes, except in compiled
        functions, in which a check would end the graph.

    Raises ValueError for a parameter that does not satisfy its constraint.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Whether distributions check their arguments where `validate_args` is not given. ValueError unless a bool."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args takes True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape = _as_size(batch_shape)
        self._event_shape = _as_size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._is_validating():
            self._validate_parameters()
        super().__init__()

    def _is_validating(self):
        return self._validate_args and not (_is_compiling() and "_validate_args" not in self.__dict__)

    def _validate_parameters(self):
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            wanted = {}
            warnings.warn(
                f"{type(self)} has no `arg_constraints`, so its parameters are not checked: define them, {{}} if "
                "there is nothing to check, or pass validate_args=False",
                stacklevel=3,
            )
        for name, constraint in wanted.items():
            if constraints.is_dependent(constraint):
                continue  # what it asks depends on other parameters
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # computed from parameters that are checked
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} of {self!r}, of shape {tuple(value.shape)}, to satisfy {constraint!r}, "
                    f"but found invalid values:\n{value}"
                )

    def expand(self, batch_shape, _instance=None):
        """The distribution with parameters expanded to `batch_shape`, which share memory with the present ones.

        `_instance` is for subclasses: the object to fill in. NotImplementedError where the subclass has to define it.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define expand()")

    def _expand_parameters(self, cls, batch_shape, _instance, *names):
        """expand() of `cls`, for those of the parameters `names` that the object has."""
        new = self._get_checked_instance(cls, _instance)
        batch_shape = _as_size(batch_shape)
        own = len(self._batch_shape)
        for name in names:
            if name in self.__dict__:
                value = self.__dict__[name]
                setattr(new, name, value.expand(batch_shape + value.shape[own:]))
        return self._finish_expanded(new, batch_shape)

    def _finish_expanded(self, new, batch_shape):
        new._batch_shape = _as_size(batch_shape)
        new._event_shape = self._event_shape
        if "_validate_args" in self.__dict__:
            new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self):
        return self._batch_shape

    @property
    def event_shape(self):
        return self._event_shape

    @property
    def arg_constraints(self):
        """{name of a parameter: constraint}."""
        raise NotImplementedError(f"{type(self).__name__} does not define arg_constraints")

    @property
    def support(self):
        """The constraint that the possible values satisfy."""
        raise NotImplementedError(f"{type(self).__name__} does not define support")

    @property
    def mean(self):
        raise NotImplementedError(f"{type(self).__name__} does not define mean")

    @property
    def mode(self):
        raise NotImplementedError(f"{type(self).__name__} does not define mode")

    @property
    def variance(self):
        raise NotImplementedError(f"{type(self).__name__} does not define variance")

    @property
    def stddev(self):
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Draws without gradient, of shape sample_shape + batch_shape + event_shape."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Draws with gradients to the parameters, of shape sample_shape + batch_shape + event_shape."""
        raise NotImplementedError(f"{type(self).__name__} does not define rsample()")

    def sample_n(self, n):
        """sample((n,)), with a warning that this is the way to write it."""
        warnings.warn("sample_n(n) is deprecated: use sample((n,)) instead", UserWarning, stacklevel=2)
        return self.sample(_as_size((n,)))

    def log_prob(self, value):
        """Logarithm of the density, or of the probability, at `value`."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_prob()")

    def cdf(self, value):
        """Probability of a draw <= `value`."""
        raise NotImplementedError(f"{type(self).__name__} does not define cdf()")

    def icdf(self, value):
        """The inverse of cdf()."""
        raise NotImplementedError(f"{type(self).__name__} does not define icdf()")

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution along a new first dimension.

        expand: whether the other dimensions are batch_shape; else they have size 1.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define enumerate_support()")

    def _enumerated(self, values, expand):
        """`values`, of shape (n,) + event_shape, as enumerate_support() gives them."""
        n, ones = values.shape[0], (1,) * len(self._batch_shape)
        values = values.reshape((n,) + ones + tuple(self._event_shape))
        return values.expand((n,) + self._batch_shape + self._event_shape) if expand else values

    def entropy(self):
        """Entropy in nats, of shape batch_shape."""
        raise NotImplementedError(f"{type(self).__name__} does not define entropy()")

    def perplexity(self):
        """exp(entropy), of shape batch_shape."""
        return _C.exp(self.entropy())

    def _extended_shape(self, sample_shape=()):
        """Shape of draws."""
        return _as_size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value):
        """Raises ValueError if `value` can be no value of this distribution, by its type, shape or support."""
        if _is_compiling() and not self._is_validating():
            return
        if not isinstance(value, _C.Tensor):
            raise ValueError(f"the value given to {type(self).__name__} must be a Tensor, not {type(value).__name__}")
        self._validate_sample_shape(value)
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} has no `support`, so values are not checked: define it, or pass validate_args=False",
                stacklevel=3,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument of shape {tuple(value.shape)} to be within the support, {support!r}, of "
                f"{self!r}, but found invalid values:\n{value}"
            )

    def _validate_sample_shape(self, value):
        events = len(self._event_shape)
        if value.shape[value.dim() - events :] != self._event_shape:
            raise ValueError(
                f"the last dimensions of a value of {type(self).__name__} have to be event_shape, "
                f"{tuple(self._event_shape)}, and its shape is {tuple(value.shape)}"
            )
        expected = tuple(self._batch_shape) + tuple(self._event_shape)
        if any(1 != i != j != 1 for i, j in zip(reversed(value.shape), reversed(expected))):
            raise ValueError(
                f"a value of shape {tuple(value.shape)} cannot be broadcast with batch_shape + event_shape, {expected}"
            )

    def _get_checked_instance(self, cls, _instance=None):
        """The object that expand() of `cls` fills in. NotImplementedError in subclasses with another __init__."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"{type(self).__name__} defines __init__, so it has to define expand() too: "
                f"{cls.__name__}'s would not know its attributes"
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self):
        named = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        texts = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in named]
        return f"{type(self).__name__}({', '.join(texts)})"


__getattr__ = _absent_names(__name__)
