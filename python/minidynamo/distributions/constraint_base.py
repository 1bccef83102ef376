"""The base of constraints, and constraints made of others; `constraints` has them under torch's names."""

from .. import _C
from .._absent import absent_names as _absent_names


class Constraint:
    """A region. `is_discrete` says whether it is of whole numbers, `event_dim` how many dimensions one value has."""

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """Bool tensor of shape value.shape[: -event_dim]: where `value` is inside."""
        raise NotImplementedError(f"{type(self).__name__} does not define check()")

    def __repr__(self):
        bounds = [f"{n}={getattr(self, n)}" for n in ("lower_bound", "upper_bound") if n in self.__dict__]
        return f"{type(self).__name__.removeprefix('_')}({', '.join(bounds)})"


class _Dependent(Constraint):
    """A region that depends on parameters: is_discrete and event_dim are known if they were given."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self):
        if self._is_discrete is NotImplemented:
            raise NotImplementedError("whether this constraint is discrete depends on parameters: ask an instance's")
        return self._is_discrete

    @property
    def event_dim(self):
        if self._event_dim is NotImplemented:
            raise NotImplementedError("event_dim of this constraint depends on parameters: ask an instance's")
        return self._event_dim

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        """A copy in which what is given replaces what was known."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x):
        raise ValueError("a constraint that depends on parameters cannot be checked without them: ask an instance's")


def is_dependent(constraint):
    """Whether it depends on parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that gives a constraint; on the class itself, a _Dependent.

    As a decorator: @dependent_property, or @dependent_property(is_discrete=..., event_dim=...).
    """

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        property.__init__(self, fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn):
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """`base_constraint` in all of the last `reinterpreted_batch_ndims` dimensions, which become part of the value."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"independent() takes a constraint, not {base_constraint!r}")
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(
                f"reinterpreted_batch_ndims has to be an int of at least 0, not {reinterpreted_batch_ndims!r}"
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        inside = self.base_constraint.check(value)
        if inside.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"a value of {self!r} has at least {self.event_dim} dimensions, this one {value.dim()}")
        kept = inside.shape[: inside.dim() - self.reinterpreted_batch_ndims]
        return inside.reshape(kept + (-1,)).all(-1)

    def __repr__(self):
        name = type(self).__name__.removeprefix("_")
        return f"{name}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """Values of a mixture: of shape (..., *event), where `base_constraint` is of (..., components, *event)."""

    def __init__(self, base_constraint):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"MixtureSameFamilyConstraint takes a constraint, not {base_constraint!r}")
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value):
        inside = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if inside.dim() < self.event_dim:
            raise ValueError(f"a value of {self!r} has at least {self.event_dim} dimensions, this one {value.dim()}")
        kept = inside.shape[: inside.dim() - self.event_dim]
        return inside.reshape(kept + (-1,)).all(-1)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_constraint!r})"


def _all_constraints(cseq):
    cseq = list(cseq)
    for constraint in cseq:
        if not isinstance(constraint, Constraint):
            raise AssertionError(f"a sequence of constraints has something else in it: {constraint!r}")
    return cseq


class _Cat(Constraint):
    """Constraints of consecutive parts along `dim`, of the given lengths, 1 each if none are given."""

    def __init__(self, cseq, dim=0, lengths=None):
        self.cseq = _all_constraints(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"{len(self.cseq)} constraints need as many lengths, not {len(self.lengths)}")
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        return max(c.event_dim for c in self.cseq)

    def check(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dimension {self.dim} is not among the {value.dim()} of the value")
        parts = value.split(self.lengths, self.dim)
        return _C.cat([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


class _Stack(Constraint):
    """Constraints of the slices along `dim`, one each."""

    def __init__(self, cseq, dim=0):
        self.cseq = _all_constraints(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dimension {self.dim} is not among the {value.dim()} of the value")
        parts = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        return _C.stack([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


__getattr__ = _absent_names(__name__)
