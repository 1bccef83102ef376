"""utils.data: datasets, samplers, collating, and loaders with and without worker processes."""

import collections
import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import minidynamo as torch

data = torch.utils.data

Point = collections.namedtuple("Point", "x y")


class Numbers(data.Dataset):
    """0 to n - 1; `act`, given one of them, does what a test wants to see."""

    def __init__(self, n, act=lambda i: i):
        self.n, self.act = n, act

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.act(i)


class Stream(data.IterableDataset):
    """0 to n - 1, workers sharing them."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(self.n) if info is None else range(info.id, self.n, info.num_workers))


def values(loader):
    return [batch.tolist() for batch in loader]


def no_children():
    """Whether all worker processes are gone, waiting a little for it. Tracebacks keep iterators alive."""
    gc.collect()
    for _ in range(100):
        if not multiprocessing.active_children():
            return True
        time.sleep(0.05)
    return False


def seeded(n=0):
    made = torch.Generator()
    made.manual_seed(n)
    return made


# --- datasets


def test_datasets_made_of_others():
    a, b = data.TensorDataset(torch.arange(4), torch.arange(8).view(4, 2)), Numbers(3)
    assert len(a) == 4 and a[1][0].item() == 1 and a[1][1].tolist() == [2, 3]
    both = Numbers(2) + b
    assert [both[i] for i in range(5)] == [0, 1, 0, 1, 2] and both[-1] == 2 and len(both) == 5
    assert both.cumulative_sizes == [2, 5]
    assert list(Stream(2) + Stream(3)) == [0, 1, 0, 1, 2]
    stack = data.StackDataset(b, Numbers(3, lambda i: -i))
    assert stack[2] == (2, -2) and stack.__getitems__([0, 1]) == [(0, 0), (1, -1)] and len(stack) == 3
    named = data.StackDataset(x=b, y=b)
    assert named[2] == {"x": 2, "y": 2} and named.__getitems__([1]) == [{"x": 1, "y": 1}]
    part = data.Subset(both, [4, 0])
    assert len(part) == 2 and part[0] == 2 and part.__getitems__([1, 0]) == [0, 2]
    assert data.Dataset[int] and issubclass(data.IterableDataset, data.Dataset)


@pytest.mark.parametrize(
    "kind, make",
    [
        (AssertionError, lambda: data.TensorDataset(torch.ones(2), torch.ones(3))),
        (AssertionError, lambda: data.ConcatDataset([])),
        (AssertionError, lambda: data.ConcatDataset([Stream(1)])),
        (AssertionError, lambda: list(data.ChainDataset([Numbers(1)]))),
        (ValueError, lambda: data.ConcatDataset([Numbers(2)])[-3]),
        (IndexError, lambda: data.ConcatDataset([Numbers(2)])[2]),
        (ValueError, lambda: data.StackDataset()),
        (ValueError, lambda: data.StackDataset(Numbers(1), a=Numbers(1))),
        (ValueError, lambda: data.StackDataset(Numbers(1), Numbers(2))),
        (NotImplementedError, lambda: data.Dataset()[0]),
        (TypeError, lambda: data.IterableDataset()),
        (TypeError, lambda: len(data.Dataset())),
        (ValueError, lambda: data.random_split(Numbers(4), [1, 2])),
        (ValueError, lambda: data.random_split(Numbers(4), [-0.5, 1.5])),
        (TypeError, lambda: data.RandomSampler(Numbers(4), 1)),
        (ValueError, lambda: data.RandomSampler(Numbers(0))),
        (ValueError, lambda: data.RandomSampler(Numbers(4), num_samples=2.0)),
        (ValueError, lambda: data.WeightedRandomSampler([1.0], 0)),
        (ValueError, lambda: data.WeightedRandomSampler([1.0], 1, 1)),
        (ValueError, lambda: data.WeightedRandomSampler([[1.0]], 1)),
        (ValueError, lambda: data.BatchSampler([1], True, False)),
        (ValueError, lambda: data.BatchSampler([1], 0, False)),
        (ValueError, lambda: data.BatchSampler([1], 1, 0)),
        (ValueError, lambda: data.DistributedSampler(Numbers(4), 2, 2)),
        (NotImplementedError, lambda: iter(data.Sampler())),
    ],
)
def test_exceptions(kind, make):
    with pytest.raises(kind):
        make()


def test_random_split():
    parts = data.random_split(Numbers(10), [3, 7], generator=seeded())
    again = data.random_split(Numbers(10), [3, 7], generator=seeded())
    assert [list(p.indices) for p in parts] == [list(p.indices) for p in again]
    assert sorted(i for part in parts for i in part.indices) == list(range(10))
    assert [len(p) for p in data.random_split(Numbers(10), [0.33, 0.33, 0.34])] == [4, 3, 3]
    with pytest.warns(UserWarning):
        assert [len(p) for p in data.random_split(Numbers(2), [0.3, 0.3, 0.4])] == [1, 1, 0]


# --- samplers


def test_samplers():
    assert list(data.SequentialSampler(Numbers(3))) == [0, 1, 2]
    torch.manual_seed(1)
    sampler = data.RandomSampler(Numbers(50))
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(50)) and first != second and len(sampler) == 50
    torch.manual_seed(1)
    assert list(sampler) == first
    many = list(data.RandomSampler(Numbers(3), num_samples=7))
    assert sorted(many[:3]) == sorted(many[3:6]) == [0, 1, 2] and len(many) == 7
    drawn = list(data.RandomSampler(Numbers(3), True, 100, seeded()))
    assert set(drawn) == {0, 1, 2} and len(drawn) == 100
    assert sorted(data.SubsetRandomSampler([5, 7, 9], seeded())) == [5, 7, 9]
    assert set(data.WeightedRandomSampler([0.0, 2.0, 1.0], 50)) == {1, 2}
    assert sorted(data.WeightedRandomSampler([1.0, 2.0, 1.0], 3, False)) == [0, 1, 2]
    assert list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert [len(data.BatchSampler(range(5), 2, drop)) for drop in (False, True)] == [3, 2]


def test_distributed_sampler():
    make = data.distributed.DistributedSampler
    shares = [list(make(Numbers(10), 3, rank, shuffle=False)) for rank in range(3)]
    assert shares == [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]
    assert list(make(Numbers(10), 3, 2, shuffle=False, drop_last=True)) == [2, 5, 8]
    assert list(make(Numbers(2), 5, 4, shuffle=False)) == [0]
    shares = [make(Numbers(9), 3, rank, seed=4) for rank in range(3)]
    first = [list(share) for share in shares]
    assert sorted(sum(first, [])) == list(range(9))
    shares[0].set_epoch(1)
    assert list(shares[0]) != first[0] and list(shares[1]) == first[1]


# --- collating


def test_default_collate():
    collate = data.default_collate
    assert collate([torch.ones(2), torch.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    assert collate([1, 2]).dtype == torch.int64 and collate([1.0, 2.0]).dtype == torch.float64
    assert collate([True, False]).dtype == torch.bool
    assert collate(["a", "b"]) == ["a", "b"] and collate([b"a"]) == [b"a"]
    first, second = collate([(1, 2.0), (3, 4.0)])
    assert first.tolist() == [1, 3] and second.tolist() == [2, 4]
    assert [t.tolist() for t in collate([[1, 2], [3, 4]])] == [[1, 3], [2, 4]]
    assert {k: v.tolist() for k, v in collate([{"a": 1}, {"a": 2}]).items()} == {"a": [1, 2]}
    kept = collate([collections.OrderedDict(a=1)])
    assert isinstance(kept, collections.OrderedDict)
    point = collate([Point(1, 2), Point(3, 4)])
    assert isinstance(point, Point) and point.y.tolist() == [2, 4]
    assert collate([np.ones((2,), np.float32)] * 3).shape == (3, 2)
    assert collate([np.float64(1), np.float64(2)]).dtype == torch.float64
    assert collate([np.float32(1), np.float32(2)]).dtype == torch.float32
    assert collate([np.int16(1), np.int16(2)]).tolist() == [1, 2]
    for bad in ([None], [object()], [{1}], [np.array(["a"])]):
        with pytest.raises(TypeError):
            collate(bad)
    with pytest.raises(RuntimeError):
        collate([[1, 2], [1]])
    with pytest.raises(RuntimeError):
        collate([torch.ones(2), torch.ones(3)])


def test_default_convert():
    convert = data.default_convert
    made = convert({"a": np.ones(2), "b": ("x", 1), "c": [np.float32(2)], "d": Point(np.ones(1), 2)})
    assert made["a"].tolist() == [1, 1] and made["b"] == ["x", 1] and made["c"][0].item() == 2
    assert isinstance(made["d"], Point) and isinstance(made["d"].x, torch.Tensor)
    tensor = torch.ones(1)
    assert convert(tensor) is tensor


# --- loaders


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_come_in_order(workers):
    make = data.DataLoader
    assert values(make(Numbers(5), 2, num_workers=workers)) == [[0, 1], [2, 3], [4]]
    assert values(make(Numbers(5), 2, drop_last=True, num_workers=workers)) == [[0, 1], [2, 3]]
    assert list(make(Numbers(3), None, num_workers=workers)) == [0, 1, 2]
    assert values(make(Numbers(5), batch_sampler=[[4], [0, 1]], num_workers=workers)) == [[4], [0, 1]]
    assert values(make(Numbers(5), 2, sampler=[3, 1, 0], num_workers=workers)) == [[3, 1], [0]]
    assert list(make(Numbers(3), 2, collate_fn=sum, num_workers=workers)) == [1, 2]
    assert list(make(Numbers(0), num_workers=workers)) == []
    assert len(make(Numbers(5), 2)) == 3 and len(make(Numbers(5), None)) == 5
    assert no_children()


@pytest.mark.parametrize("workers", [0, 2])
def test_the_same_seed_gives_the_same_order(workers):
    def epochs(**given):
        torch.manual_seed(3)
        loader = data.DataLoader(Numbers(20), 4, shuffle=True, num_workers=workers, **given)
        return values(loader), values(loader)

    first, second = epochs()
    assert first != second and sorted(sum(first, [])) == list(range(20)) and epochs() == (first, second)
    torch.manual_seed(3)
    assert (values(data.DataLoader(Numbers(20), 4, shuffle=True)), first)[0] == first  # workers change nothing
    assert epochs(generator=seeded(5)) == epochs(generator=seeded(5)) != epochs(generator=seeded(6))


def test_iterable_datasets():
    make = data.DataLoader
    assert values(make(Stream(5), 2)) == [[0, 1], [2, 3], [4]] and values(make(Stream(5), 2, drop_last=True))[-1] == [
        2,
        3,
    ]
    assert values(make(Stream(10), 2, num_workers=2)) == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]
    assert values(make(Stream(7), 2, num_workers=2)) == [[0, 2], [1, 3], [4, 6], [5]]
    # A worker with nothing left leaves its turns to the others.
    assert sorted(sum(values(make(Stream(9), 1, num_workers=4)), [])) == list(range(9))
    assert list(make(Stream(3), None, num_workers=2)) == [0, 1, 2]
    with pytest.raises(TypeError):
        len(make(Stream(3)))

    class Short(Stream):
        def __len__(self):
            return 2

    with pytest.warns(UserWarning):
        list(make(Short(5), 2))
    assert len(make(Short(5), 2)) == 1 and no_children()


@pytest.mark.parametrize(
    "kind, given",
    [
        (ValueError, dict(num_workers=-1)),
        (ValueError, dict(timeout=-1)),
        (ValueError, dict(prefetch_factor=2)),
        (ValueError, dict(num_workers=1, prefetch_factor=-1)),
        (ValueError, dict(persistent_workers=True)),
        (ValueError, dict(dataset=Stream(1), shuffle=True)),
        (ValueError, dict(dataset=Stream(1), sampler=[1])),
        (ValueError, dict(dataset=Stream(1), batch_sampler=[[1]])),
        (ValueError, dict(sampler=[1], shuffle=True)),
        (ValueError, dict(batch_sampler=[[1]], shuffle=True)),
        (ValueError, dict(batch_sampler=[[1]], batch_size=3)),
        (ValueError, dict(batch_size=None, drop_last=True)),
        (ValueError, dict(batch_size=0)),
        (ValueError, dict(multiprocessing_context="fork")),
        (ValueError, dict(num_workers=1, multiprocessing_context="no")),
        (TypeError, dict(num_workers=1, multiprocessing_context=3)),
    ],
)
def test_arguments_that_do_not_fit(kind, given):
    with pytest.raises(kind):
        data.DataLoader(**{"dataset": Numbers(3), **given})


def test_attributes():
    loader = data.DataLoader(Numbers(3), 2, num_workers=1)
    assert loader.batch_size == 2 and loader.prefetch_factor == 2 and isinstance(loader.sampler, data.SequentialSampler)
    for name in ("batch_size", "sampler", "dataset", "drop_last"):
        with pytest.raises(ValueError):
            setattr(loader, name, None)
    with pytest.warns(UserWarning):
        assert values(data.DataLoader(Numbers(1), pin_memory=True)) == [[0]]


def about_worker(i):
    info = data.get_worker_info()
    numbers = torch.rand(()).item(), random.random(), np.random.rand()
    return info.id, info.num_workers, torch.initial_seed() - info.seed, info.dataset.n, os.getpid(), numbers


def test_workers_know_of_themselves_and_are_seeded():
    def run():
        torch.manual_seed(0)
        return list(data.DataLoader(Numbers(4, about_worker), None, num_workers=2, collate_fn=lambda x: x))

    first, second = run(), run()
    assert [(x[0], x[1], x[2], x[3]) for x in first] == [(0, 2, 0, 4), (1, 2, 0, 4)] * 2
    assert [x[5] for x in first] == [x[5] for x in second] and len({x[5] for x in first}) == 4
    assert first[0][4] == first[2][4] != first[1][4] and data.get_worker_info() is None

    def change(i):
        data.get_worker_info().id = 3

    with pytest.raises(RuntimeError):
        list(data.DataLoader(Numbers(1, change), num_workers=1))


def test_worker_init_fn():
    seen = []  # in the worker: a fork's copy
    loader = data.DataLoader(
        Numbers(2, lambda i: seen[0]), None, num_workers=2, worker_init_fn=lambda n: seen.append(n + 10)
    )
    assert list(loader) == [10, 11] and seen == []

    def refuse(n):
        raise LookupError("not today")

    with pytest.raises(LookupError, match="not today"):
        list(data.DataLoader(Numbers(2), num_workers=1, worker_init_fn=refuse))


def test_persistent_workers():
    loader = data.DataLoader(
        Numbers(6, lambda i: (i, os.getpid())), None, num_workers=2, persistent_workers=True, collate_fn=lambda x: x
    )
    first, second = list(loader), list(loader)
    assert [i for i, _ in first] == [i for i, _ in second] == list(range(6))
    assert len({pid for _, pid in first}) == 2 and {pid for _, pid in first} == {pid for _, pid in second}
    for i, _ in loader:  # left early: the next epoch begins at the start
        if i == 1:
            break
    assert [i for i, _ in loader] == list(range(6))
    stream = data.DataLoader(Stream(5), 2, num_workers=2, persistent_workers=True)
    assert values(stream) == values(stream) == [[0, 2], [1, 3], [4]]
    del loader, stream
    assert no_children()


def test_a_loop_left_early_leaves_no_processes():
    for batch in data.DataLoader(Numbers(1000, lambda i: torch.zeros(10000)), 10, num_workers=2):
        assert batch.shape == (10, 10000)
        break
    assert no_children()


def test_large_batches_and_large_indices():
    loader = data.DataLoader(Numbers(400000), 200000, num_workers=2, prefetch_factor=4)
    assert [batch.sum().item() for batch in loader] == [sum(range(200000)), sum(range(200000, 400000))]


def test_without_an_order_the_fast_come_first():
    def act(i):
        time.sleep(0.5 if i == 0 else 0)
        return i

    got = list(data.DataLoader(Numbers(6, act), None, num_workers=2, in_order=False))
    assert sorted(got) == list(range(6)) and got[0] != 0


class TwoArguments(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


def fail(error, at=2):
    def act(i):
        if i == at:
            raise error
        return i

    return Numbers(4, act)


def test_exceptions_of_workers():
    for kind in (ValueError, KeyError, ZeroDivisionError):
        with pytest.raises(kind) as caught:
            list(data.DataLoader(fail(kind("too bad")), num_workers=2))
        text = str(caught.value)
        assert "worker process 0" in text and "too bad" in text and "\n  File " in text and "in act" in text
        del caught
    with pytest.raises(RuntimeError, match="TwoArguments"):
        list(data.DataLoader(fail(TwoArguments(1, 2)), num_workers=2))
    with pytest.raises(Exception, match="[Pp]ickle|local object"):
        list(data.DataLoader(Numbers(1, lambda i: lambda: i), None, num_workers=1))
    assert no_children()


def test_a_loader_goes_on_after_an_exception():
    batches = iter(data.DataLoader(fail(ValueError(), at=1), None, num_workers=2))
    assert next(batches) == 0
    with pytest.raises(ValueError):
        next(batches)
    assert list(batches) == [2, 3]


@pytest.mark.parametrize(
    "die, text", [(lambda: os._exit(3), "code 3"), (lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL")]
)
def test_workers_that_die(die, text):
    with pytest.raises(RuntimeError, match=text):
        list(data.DataLoader(Numbers(4, lambda i: die() if i == 2 else i), num_workers=2))
    assert no_children()


def test_timeout():
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="timeout"):
        list(data.DataLoader(Numbers(2, lambda i: time.sleep(60)), num_workers=2, timeout=0.3))
    assert time.monotonic() - began < 20 and no_children()


def test_workers_compile_and_compute():
    double = torch.compile(lambda x: (x @ x).sum() * 2)
    loader = data.DataLoader(Numbers(4, lambda i: double(torch.full((40, 40), float(i)))), 2, num_workers=2)
    assert values(loader) == [[0, 128000], [4 * 128000, 9 * 128000]]


def test_a_killed_program_leaves_no_workers():
    program = """
        import os, time
        import minidynamo as torch
        class Slow(torch.utils.data.Dataset):
            def __len__(self):
                return 100
            def __getitem__(self, i):
                return os.getpid()
        batches = iter(torch.utils.data.DataLoader(Slow(), None, num_workers=2))
        print(next(batches), next(batches), flush=True)
        time.sleep(60)
    """
    path = os.path.dirname(os.path.dirname(torch.__file__))
    run = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    workers = [int(pid) for pid in run.stdout.readline().split()]
    run.kill()
    run.wait()
    run.stdout.close()
    assert len(workers) == 2
    for _ in range(200):
        if not any(is_running(pid) for pid in workers):
            return
        time.sleep(0.05)
    raise AssertionError("workers without a parent go on")


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_names_are_reachable():
    assert torch.utils.data.DataLoader is data.dataloader.DataLoader
    assert data.sampler.RandomSampler is data.RandomSampler and data.dataset.Subset is data.Subset
    with pytest.raises(AttributeError, match="IterDataPipe"):
        data.IterDataPipe  # noqa: B018
