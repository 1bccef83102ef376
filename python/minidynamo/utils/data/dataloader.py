"""torch.utils.data.dataloader: iterates over a dataset in batches, read here or by worker processes."""

import itertools
import multiprocessing
import multiprocessing.context
import sys
import warnings
from typing import Generic, TypeVar

from ..._absent import absent_names as _absent_names
from ..._no_device import is_present
from ._utils.collate import default_collate as default_collate
from ._utils.collate import default_convert as default_convert
from ._utils.collate import pinned
from ._utils.fetch import IterableFetcher, MapFetcher
from ._utils.pool import WorkerPool
from ._utils.worker import DATA, ENDED, FetcherMaker
from ._utils.worker import get_worker_info as get_worker_info
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, fresh_seed

_Sample = TypeVar("_Sample", covariant=True)
_FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


class _InfiniteConstantSampler(Sampler):
    """None for ever: an iterable dataset knows itself what comes next."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader(Generic[_Sample]):
    """Batches of `dataset`, each made by `collate_fn` of `batch_size` samples; single ones with `batch_size=None`.

    dataset: with `__getitem__`, read in the order of `sampler` or `batch_sampler` (default: from 0 on, with `shuffle`
        at random), or an IterableDataset.
    num_workers: processes that read ahead, each `prefetch_factor` batches (2); 0 reads when asked. With `in_order`
        batches come as the sampler has them, else as they are done. `persistent_workers` live as long as the loader.
    timeout: seconds to wait for a batch of a worker; 0 for ever.
    worker_init_fn: called in each worker with its number, after it was seeded with the epoch's number plus its own.
    generator: gives the orders and the workers' seeds, instead of the default stream.
    pin_memory: batches are given in memory that copies to a device need not wait for. Without a device it warns.

    An exception in a worker is raised here with its type and traceback, RuntimeError for a worker that dies or takes
    longer than `timeout`. ValueError for arguments that exclude each other.
    """

    _iterator = None
    __initialized = False

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers
        self._is_iterable = isinstance(dataset, IterableDataset)
        if self._is_iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        self._set_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.__initialized = True

    def _set_samplers(self, batch_size, shuffle, sampler, batch_sampler, drop_last):
        if sampler is not None and shuffle:
            raise ValueError("shuffle and sampler both say what the order is: give one of them")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("a batch_sampler excludes batch_size, shuffle, sampler and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("without a batch_size there is no last batch to drop (drop_last)")
        if sampler is None:
            if self._is_iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(self.dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler

    @property
    def multiprocessing_context(self):
        """What the workers are started with; None stands for fork."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            if not self.num_workers:
                raise ValueError("multiprocessing_context is about workers, and num_workers is 0")
            if isinstance(context, str):
                known = multiprocessing.get_all_start_methods()
                if context not in known:
                    raise ValueError(f"multiprocessing_context {context!r} is none of {known}")
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(f"multiprocessing_context: a context or its name is needed, got {context!r}")
        self._context = context

    def __setattr__(self, name, value):
        if self.__initialized and name in _FIXED:
            raise ValueError(f"{name} of a {type(self).__name__} can not be changed: make another one")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self):
        return (_ParallelIterator if self.num_workers else _PlainIterator)(self)

    def __iter__(self):
        if self.pin_memory and not is_present():
            warnings.warn("pin_memory has no effect: there is no accelerator", stacklevel=2)
        if not (self.persistent_workers and self.num_workers):
            return self._get_iterator()
        if self._iterator is None or self._iterator.closed:
            self._iterator = self._get_iterator()
        else:
            self._iterator.restart()
        return self._iterator

    def __len__(self):
        """How many batches an epoch has; of an IterableDataset what its own length says."""
        if not self._is_iterable:
            return len(self._index_sampler)
        n = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def check_worker_number_rationality(self):
        """Kept for programs that call it: says nothing about the number of workers."""


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError(f"num_workers can not be negative, got {num_workers}")
    if timeout < 0:
        raise ValueError(f"timeout can not be negative, got {timeout}")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor is about workers, and num_workers is 0")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError(f"prefetch_factor can not be negative, got {prefetch_factor}")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers is about workers, and num_workers is 0")


def _check_iterable(shuffle, sampler, batch_sampler):
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"an IterableDataset has an order of its own: no {name} can be given, got {value!r}")


class _Iterator:
    """What both kinds of loading share. Like torch's, draws one seed when it is made, used or not."""

    def __init__(self, loader):
        self._loader = loader
        self._base_seed = fresh_seed(loader.generator)
        kind = IterableFetcher if loader._is_iterable else MapFetcher
        arguments = (loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)
        self._make_fetcher = FetcherMaker(kind, *arguments, ends=loader._is_iterable)
        self._begin()

    def _begin(self):
        self._indices = iter(self._loader._index_sampler)
        self._given = 0
        has_length = self._loader._is_iterable and hasattr(self._loader.dataset, "__len__")
        self._expected = len(self._loader) if has_length else None

    def __iter__(self):
        return self

    def __next__(self):
        batch = self._next()
        if self._loader.pin_memory and is_present():
            batch = pinned(batch)
        self._given += 1
        if self._expected is not None and self._given == self._expected + 1:
            warnings.warn(f"the dataset's length stands for {self._expected} batches, but it has more", stacklevel=2)
        return batch

    def __len__(self):
        return len(self._loader._index_sampler)


class _PlainIterator(_Iterator):
    """Reads in this process."""

    def __init__(self, loader):
        super().__init__(loader)
        self._fetcher = self._make_fetcher()

    def _next(self):
        return self._fetcher.fetch(next(self._indices))


class _ParallelIterator(_Iterator):
    """Reads in worker processes, tasks dealt out in turns."""

    def __init__(self, loader):
        super().__init__(loader)
        context = loader.multiprocessing_context or multiprocessing.get_context("fork")
        self._tasks = itertools.count()
        self._pool = WorkerPool(
            context, self._make_fetcher, self._base_seed, loader.num_workers, loader.worker_init_fn, loader.timeout
        )
        self._deal()

    @property
    def closed(self):
        """No workers are left."""
        return not self._pool.processes

    def restart(self):
        """Begins an epoch with the same workers. Answers to tasks of the last one find no place in `_pending`."""
        self._begin()
        self._pool.resume()
        self._deal()

    def _deal(self):
        n = self._loader.num_workers
        self._active = list(range(n))
        self._turn = 0
        self._pending = {}  # task: its worker, in the sampler's order
        self._arrived = {}  # task: (kind, value)
        for _ in range(n * self._loader.prefetch_factor or n):
            self._ask()

    def _ask(self):
        """Gives one more task to a worker, if there are any left."""
        if not self._active:
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        if self._loader.in_order:
            worker = self._active[self._turn % len(self._active)]
            self._turn = (self._turn + 1) % len(self._active)
        else:
            load = list(self._pending.values())
            worker = min(self._active, key=load.count)
        task = next(self._tasks)
        self._pending[task] = worker
        self._pool.ask(worker, task, index)

    def _next(self):
        while self._pending:
            task = self._wait()
            worker = self._pending.pop(task)
            kind, value = self._arrived.pop(task)
            if kind == ENDED:
                self._retire(worker)
                continue
            self._ask()
            if kind == DATA:
                return value
            value.reraise()
        if not self._loader.persistent_workers:
            self._pool.close()
        raise StopIteration

    def _wait(self):
        """The task whose answer is next: the sampler's next one, or without an order any that is done."""
        while True:
            task = next(iter(self._pending))
            if not self._loader.in_order:
                task = next(iter(self._arrived), task)
            if task in self._arrived:
                return task
            for _, (done, kind, value) in self._pool.receive():
                if done in self._pending:
                    self._arrived[done] = kind, value

    def _retire(self, worker):
        """The worker's part of an iterable dataset is read; the others get what it would have been asked."""
        if worker not in self._active:
            return
        place = self._active.index(worker)
        self._active.remove(worker)
        if place < self._turn:
            self._turn -= 1
        for task in [t for t, w in self._pending.items() if w == worker]:
            del self._pending[task]
            self._arrived.pop(task, None)
            self._ask()
        self._ask()

    def __del__(self):
        pool = getattr(self, "_pool", None)
        if pool is not None and not sys.is_finalizing():
            pool.close()


__getattr__ = _absent_names(__name__)
