"""Kullback-Leibler divergences of pairs of distributions: formulas, found by the types of both."""

import warnings

from .._absent import absent_names as _absent_names
from .distribution import Distribution

_KL_REGISTRY = {}  # (type of p, type of q): function
_KL_MEMOIZE = {}  # what was found for pairs of subclasses


def register_kl(type_p, type_q):
    """Decorator of a function (p, q) that computes KL(p || q) for these classes and their subclasses.

    Raises TypeError for anything but subclasses of Distribution.
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"register_kl takes subclasses of Distribution, not {kind!r}")

    def register(function):
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _dispatch_kl(type_p, type_q):
    """The function for the nearest registered bases; NotImplemented if there is none.

    Warns if the nearest by p is another than the nearest by q: p decides.
    """
    matches = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return NotImplemented
    by_p = min(matches, key=lambda pair: (type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])))
    by_q = min(matches, key=lambda pair: (type_q.__mro__.index(pair[1]), type_p.__mro__.index(pair[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        names = [f"({p.__name__}, {q.__name__})" for p, q in (by_p, by_q)]
        warnings.warn(
            f"KL divergence of {type_p.__name__} and {type_q.__name__} is ambiguous: {names[0]} and {names[1]} are "
            f"registered. {names[0]} is taken; register_kl({type_p.__name__}, {type_q.__name__}) decides",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p, q):
    """KL(p || q), the expectation of log p(x) - log q(x) for x from p, of shape batch_shape.

    Raises NotImplementedError if no formula is registered for the two classes or bases of them.
    """
    pair = type(p), type(q)
    function = _KL_MEMOIZE.get(pair)
    if function is None:
        function = _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if function is NotImplemented:
        raise NotImplementedError(
            f"no KL divergence is registered for {type(p).__name__} and {type(q).__name__}: register_kl adds one"
        )
    return function(p, q)


__getattr__ = _absent_names(__name__)
