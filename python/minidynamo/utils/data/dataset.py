"""torch.utils.data.dataset: collections of samples, and collections made of others."""

import bisect
import itertools
import math
import warnings
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from ... import _C
from ..._absent import absent_names as _absent_names

_Sample = TypeVar("_Sample", covariant=True)


class Dataset(Generic[_Sample]):
    """Base class of datasets with `__getitem__(key)`, usually with `__len__` too.

    `__getitems__(keys)`, where there is one, gives the list of samples of a whole batch.
    """

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__ of its own")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_Sample], ABC):
    """Base class of datasets that are read from the start, with `__iter__`.

    Each worker process iterates over its own copy: get_worker_info() tells which share is whose.
    """

    @abstractmethod
    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} has no __iter__ of its own")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Sample i is the tuple of `tensor[i]`; AssertionError unless all first dimensions are equal."""

    def __init__(self, *tensors):
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError(f"tensors differ in their first dimension: {[t.size(0) for t in tensors]}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)


def _samples(dataset, indices):
    """The samples at `indices`, asked for at once where the dataset can do that."""
    many = getattr(dataset, "__getitems__", None)
    if not callable(many):
        return [dataset[index] for index in indices]
    found = many(indices)
    if len(found) != len(indices):
        raise ValueError(f"__getitems__ of a part gave {len(found)} samples for {len(indices)} indices")
    return found


class StackDataset(Dataset):
    """Sample i is a tuple of the parts' samples i, or with keywords a dict of them. ValueError for unequal lengths."""

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError("datasets are given by position, for tuples, or by keyword, for dicts; not both")
        if not args and not kwargs:
            raise ValueError("a stack is made of one dataset or more; got none")
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in (args or kwargs.values())]
        if len(set(lengths)) > 1:
            raise ValueError(f"datasets differ in length: {lengths}")
        self._length = lengths[0]

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices):
        """List of samples, one for each index."""
        if isinstance(self.datasets, dict):
            columns = [_samples(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row)) for row in zip(*columns)]
        return list(zip(*(_samples(dataset, indices) for dataset in self.datasets)))

    def __len__(self):
        return self._length


class ConcatDataset(Dataset):
    """The samples of the first dataset, then those of the next. AssertionError for none, or iterable ones."""

    @staticmethod
    def cumsum(sequence):
        """Lengths of the first dataset, the first two, and so on."""
        return list(itertools.accumulate(len(dataset) for dataset in sequence))

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("nothing to concatenate: the iterable of datasets is empty")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("an IterableDataset has no indices: use ChainDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError(f"index {idx} is before the start of {len(self)} samples")
            idx += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[part][idx - (self.cumulative_sizes[part - 1] if part else 0)]

    @property
    def cummulative_sizes(self):
        """An old misspelling of `cumulative_sizes`."""
        warnings.warn("the attribute is called cumulative_sizes", DeprecationWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """Iterable datasets one after the other; AssertionError, when it gets there, for one that is not iterable."""

    def __init__(self, datasets):
        super().__init__()
        self.datasets = datasets

    def _parts(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(f"only IterableDatasets can be chained; got a {type(dataset).__name__}")
            yield dataset

    def __iter__(self):
        for dataset in self._parts():
            yield from dataset

    def __len__(self):
        return sum(len(dataset) for dataset in self._parts())


class Subset(Dataset):
    """The samples of `dataset` at `indices`, in that order."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        """List of samples, one for each index."""
        chosen = [self.indices[index] for index in indices]
        many = getattr(self.dataset, "__getitems__", None)
        return many(chosen) if callable(many) else [self.dataset[index] for index in chosen]

    def __len__(self):
        return len(self.indices)


def _counts(fractions, total):
    """Whole numbers in these proportions; what rounding down leaves over goes one by one to the first parts."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction {fraction} at index {i} is outside [0, 1]")
    counts = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(counts)):
        counts[i % len(counts)] += 1
    for i, count in enumerate(counts):
        if count == 0:
            warnings.warn(f"part {i} of the split is empty", stacklevel=3)
    return counts


def random_split(dataset, lengths, generator=_C.default_generator):
    """A list of Subsets that share no sample, of these lengths, or fractions where they add up to 1.

    ValueError where the lengths do not add up to len(dataset).
    """
    whole = sum(lengths)
    if math.isclose(whole, 1) and whole <= 1:
        lengths = _counts(lengths, len(dataset))
    if sum(lengths) != len(dataset):
        raise ValueError(f"lengths add up to {sum(lengths)}, the dataset has {len(dataset)} samples")
    order = _C.randperm(sum(lengths), generator=generator).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths)]


__getattr__ = _absent_names(__name__)
