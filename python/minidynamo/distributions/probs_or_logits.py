"""Distributions that are given either probabilities or logits, and compute the other when it is first read."""

from .._absent import absent_names as _absent_names
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


def _check_one_given(probs, logits):
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both")


class EventOdds(Distribution):
    """Base of distributions whose parameter is the probability of an event, `probs`, or its log-odds, `logits`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def _set_odds(self, probs, logits, *others):
        """Sets the one that is given; returns it and `others`, all of one shape. ValueError unless exactly one is."""
        _check_one_given(probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        given, *others = broadcast_all(given, *others)
        setattr(self, name, given)
        return given, *others

    @property
    def _param(self):
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.logits

    def _new(self, *args, **kwargs):
        return self._param.new_empty(*args, **kwargs)

    @property
    def param_shape(self):
        return self._param.size()

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, is_binary=True)


class CategoryOdds(Distribution):
    """Base of distributions over categories, the last dimension of `probs` or of unnormalised `logits`."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def _set_odds(self, probs, logits):
        """Sets the one that is given, normalised. ValueError unless exactly one is, with a dimension."""
        _check_one_given(probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional: its last dimension is categories")
        if probs is None:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        else:
            self.probs = probs / probs.sum(-1, keepdim=True)

    @property
    def _param(self):
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.logits

    def _new(self, *args, **kwargs):
        return self._param.new_empty(*args, **kwargs)

    @property
    def param_shape(self):
        return self._param.size()

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits)


__getattr__ = _absent_names(__name__)
