"""Reads the samples of one batch from a dataset, by index or from an iterator, and collates them."""

import itertools


class MapFetcher:
    """Of a dataset with indices. `batched`: what is asked for are lists of indices."""

    def __init__(self, dataset, batched, collate_fn, drop_last):
        self.dataset, self.batched, self.collate_fn = dataset, batched, collate_fn

    def fetch(self, index):
        """The batch at a list of indices, or the sample at one index."""
        if not self.batched:
            return self.collate_fn(self.dataset[index])
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(index))
        return self.collate_fn([self.dataset[i] for i in index])


class IterableFetcher:
    """Of an IterableDataset: indices only tell how many samples are wanted. StopIteration after the last."""

    def __init__(self, dataset, batched, collate_fn, drop_last):
        self.batched, self.collate_fn, self.drop_last = batched, collate_fn, drop_last
        self.samples = iter(dataset)
        self.ended = False

    def fetch(self, index):
        """The next len(index) samples as a batch, or the next sample."""
        if not self.batched:
            return self.collate_fn(next(self.samples))
        if self.ended:
            raise StopIteration
        batch = list(itertools.islice(self.samples, len(index)))
        self.ended = len(batch) < len(index)
        if not batch or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(batch)
