"""The two modes of a selective checkpoint: one keeps results the policy names, the other hands them out again."""

from collections import defaultdict, deque

from .. import _C
from . import _pytree
from ._python_dispatch import TorchDispatchMode

# What describes a tensor, and what changes nothing a policy could decide about.
_UNASKED = frozenset(("detach", "_local_scalar_dense"))


class _Kept:
    """The tensors of a result without history, with the counts of writes to them."""

    def __init__(self, result, may_change):
        self._may_change = may_change
        self._leaves, self._spec = _pytree.tree_flatten(result)
        self._leaves = [x.detach() if isinstance(x, _C.Tensor) else x for x in self._leaves]
        self._versions = [x._version if isinstance(x, _C.Tensor) else None for x in self._leaves]

    def result(self):
        for leaf, version in zip(self._leaves, self._versions):
            if version is not None and leaf._version != version and not self._may_change:
                raise RuntimeError(
                    "a tensor kept by a selective checkpoint has been changed in place; pass "
                    "allow_cache_entry_mutation=True to create_selective_checkpoint_contexts() if that is meant"
                )
        return _pytree.tree_unflatten(self._leaves, self._spec)


class _PolicyMode(TorchDispatchMode):
    def __init__(self, keeps, kept):
        super().__init__()
        self._keeps, self._kept = keeps, kept


class _CachingTorchDispatchMode(_PolicyMode):
    """Around the first run."""

    def __init__(self, keeps, kept, may_change):
        super().__init__(keeps, kept)
        self._may_change = may_change

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.__name__.split(".")[0] in _UNASKED:
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        if self._keeps(False, func, args, kwargs):
            self._kept[str(func)].append(_Kept(result, self._may_change))
        return result


class _CachedTorchDispatchMode(_PolicyMode):
    """Around the run in the backward pass, where each operation takes the results kept for it in their order."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.__name__.split(".")[0] in _UNASKED or not self._keeps(True, func, args, kwargs):
            return func(*args, **kwargs)
        if not (waiting := self._kept.get(str(func))):
            raise RuntimeError(
                f"{func} is to be kept by a selective checkpoint, but no result of it is left: it ran more often when "
                "computed again, or this is a second backward pass through the checkpoint"
            )
        return waiting.popleft().result()


def contexts(keeps, may_change):
    """The two modes, which share what is kept. keeps(is_recompute, func, args, kwargs) asks the policy."""
    kept = defaultdict(deque)
    return _CachingTorchDispatchMode(keeps, kept, may_change), _CachedTorchDispatchMode(keeps, kept)
