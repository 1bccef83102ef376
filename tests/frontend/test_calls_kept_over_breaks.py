"""Methods of containers that are on the stack while an argument breaks, and numbers of NumPy beside tensors."""

import math

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import same


def appends(x, seen):
    seen.append(x.sum().item())
    return x + len(seen)


def updates(x, seen):
    seen.update(a=x.sum().item())
    return x + seen["a"]


def adds(x, seen):
    seen.add(x.sum().item())
    return x * len(seen)


def inserts(x, seen):
    seen.setdefault("all", []).append(x.max().item())
    return x, seen["all"][0]


@pytest.mark.parametrize(("f", "kind"), [(appends, list), (updates, dict), (adds, set), (inserts, dict)])
def test_only_the_argument_breaks(f, kind):
    same(f, lambda: (torch.tensor([1.0, 2.0]), kind()), breaks=["GB0124"])


SCALED = [
    lambda q: q / np.sqrt(q.shape[-1]),
    lambda q: (q * np.float64(2.0), np.float32(2.0) * q, q + np.int64(3)),
    lambda q: np.float64(2.0) - q ** np.int64(2),
    lambda q: (q > np.float64(0.5), q // np.sqrt(2.0), q % np.float32(0.3)),
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("f", SCALED)
def test_numpy_numbers_are_numbers(f, dtype):
    same(f, lambda: (torch.tensor([[1.0, 2.0, 0.25]], dtype=dtype),), frames=1, breaks=[])


def test_written_in_place():
    def f(q):
        q *= np.float64(3.0)
        return q - 1

    same(f, lambda: (torch.tensor([1.0, 2.0]),), frames=1, breaks=[])


def test_open_and_range_are_builtins():
    def reads(x):
        with open("/dev/null") as file:
            return x, file.read()

    same(reads, lambda: (torch.ones(2),), breaks=["GB0059", "GB0142"])
    same(lambda x, n: [x for _ in range(n)], lambda: (torch.ones(2), torch.tensor(2)), breaks=["GB0059"])


def test_attributes_of_modules_of_python():
    def sets(x):
        math.gbtests = 1
        return x + 1

    def deletes(x):
        del math.gbtests
        return x + 1

    same(sets, lambda: (torch.ones(2),), breaks=[])
    del math.gbtests
    torch._dynamo.reset()
    assert torch.compile(sets, backend="eager", fullgraph=True)(torch.ones(2)).tolist() == [2.0, 2.0]
    assert math.gbtests == 1
    torch._dynamo.reset()
    assert torch.compile(deletes, backend="eager")(torch.ones(2)).tolist() == [2.0, 2.0]
    assert not hasattr(math, "gbtests")
