"""torch.utils.data.sampler: orders in which the indices of a dataset are visited."""

import itertools
from typing import Generic, TypeVar

from ... import _C
from ..._absent import absent_names as _absent_names

_Index = TypeVar("_Index", covariant=True)
_DRAWN_AT_ONCE = 32  # with replacement; as in torch, so that a generator is left at the same place


class Sampler(Generic[_Index]):
    """Base class: `__iter__` gives indices, or lists of them; `__len__`, where there is one, tells how many."""

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} has no __iter__ of its own")


def _count(num_samples):
    if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
        raise ValueError(f"num_samples: a positive int is needed, got {num_samples!r}")
    return num_samples


def fresh_seed(generator=None):
    """A non-negative 63-bit number, drawn from the generator or the default stream."""
    return int(_C.empty((), dtype=_C.int64).random_(generator=generator).item())


class SequentialSampler(Sampler[int]):
    """0, 1, ... len(data_source) - 1."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """`num_samples` indices (default: as many as there are), each epoch in another order.

    Without `replacement` nothing comes twice before everything has come once. Without `generator` the order follows
    from the default stream, that is from torch.manual_seed. TypeError for a `replacement` that is no bool; ValueError
    for `num_samples` below 1, which an empty dataset has too.
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement: a bool is needed, got {replacement!r}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _count(self.num_samples)

    @property
    def num_samples(self):
        """How many indices an epoch has; follows the dataset's length where none was given."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        generator = self.generator
        if generator is None:
            generator = _C.Generator()
            generator.manual_seed(fresh_seed())
        n, left = len(self.data_source), self.num_samples
        while left > 0:
            if self.replacement:
                drawn = _C.randint(high=n, size=(min(left, _DRAWN_AT_ONCE),), dtype=_C.int64, generator=generator)
            else:
                drawn = _C.randperm(n, generator=generator)[:left]
            yield from drawn.tolist()
            left -= drawn.numel()

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices, each once, in random order."""

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for place in _C.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[place]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices below len(weights), with odds of these proportions (they need not add up to 1).

    ValueError for weights that are not one-dimensional, `num_samples` below 1, a `replacement` that is no bool.
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _count(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement: a bool is needed, got {replacement!r}")
        self.weights = _C.as_tensor(weights, dtype=_C.float64)
        if self.weights.dim() != 1:
            raise ValueError(f"weights: one dimension is needed, got shape {tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        drawn = _C.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler; the last may be shorter, or with `drop_last` is left out.

    ValueError for a `batch_size` below 1 or no int, and a `drop_last` that is no bool.
    """

    def __init__(self, sampler, batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size: a positive int is needed, got {batch_size!r}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last: a bool is needed, got {drop_last!r}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


__getattr__ = _absent_names(__name__)
