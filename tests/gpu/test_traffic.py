"""Kernels access whole sectors, and ask memory for each element about once, by the emulated driver's counts with a
cache that is much smaller than the tensors.
"""

import functools

import pytest

import minidynamo as torch

from .emulated_driver import Driver, in_child
from .fault_graphs import values
from .launched_graph import LaunchedGraph

CACHE = 64 << 10  # bytes: what a small card has for some twenty of the blocks that it runs at once
SECTOR = 32
F = torch.nn.functional


def layer_norm(x, w, b):
    return F.layer_norm(x, x.shape[-1:], w, b)


# (function, inputs), each of a megabyte or more
CASES = {
    "pointwise": (lambda x, y: (x * y + 1).exp(), lambda: (values(256, 1024), values(256, 1024))),
    "pointwise of odd length": (lambda x: x * 2, lambda: (values(300_001),)),
    "halves": (lambda x, y: x * y, lambda: (values(512, 1024, dtype="float16"), values(512, 1024, dtype="float16"))),
    "broadcast": (lambda x, r, c: x * r + c, lambda: (values(256, 1024), values(1024), values(256, 1))),
    "broadcast in the middle": (lambda x, r: x + r, lambda: (values(16, 20, 1000), values(16, 1, 1000))),
    "rows": (lambda x: x.sum(1), lambda: (values(256, 1024),)),
    "short rows": (lambda x: x.sum(1), lambda: (values(30_000, 10),)),
    "long rows": (lambda x: x.sum(1), lambda: (values(60, 5000),)),
    "one row": (lambda x: x.sum(), lambda: (values(300_000),)),
    "columns": (lambda x: x.sum(0), lambda: (values(256, 1024),)),
    "long columns": (lambda x: x.sum(0), lambda: (values(5000, 64),)),
    "softmax of columns": (lambda x: torch.softmax(x, 0), lambda: (values(500, 512),)),
    "columns less their mean": (lambda x: x - x.mean(0), lambda: (values(1000, 256),)),
    "softmax in the middle": (lambda x: torch.softmax(x, 1), lambda: (values(4, 500, 128),)),
    "softmax": (lambda x: torch.softmax(x, 1), lambda: (values(256, 1024),)),
    "log softmax": (lambda x: torch.log_softmax(x, 1), lambda: (values(256, 1024),)),
    "softmax of odd length": (lambda x: torch.softmax(x, 1), lambda: (values(300, 1001),)),
    "softmax of long rows": (lambda x: torch.softmax(x, 1), lambda: (values(50, 6000),)),
    "layer norm": (layer_norm, lambda: (values(400, 768), values(768), values(768))),
    "layer norm of short rows": (layer_norm, lambda: (values(4000, 64), values(64), values(64))),
    "transpose": (lambda x: x.t().contiguous(), lambda: (values(256, 1000),)),
    "transposed sum": (lambda x, y: x.t() + y, lambda: (values(256, 1000), values(1000, 256))),
    "transposes of a batch": (lambda x: x.transpose(1, 2) * 2, lambda: (values(8, 160, 256),)),
    "permuted": (lambda x: x.permute(1, 0, 2) * 2, lambda: (values(40, 8, 1000),)),
}
PARTLY = {"softmax of odd length", "short rows"}  # rows begin and end within a sector


def check(name):
    driver = Driver()
    function, make = CASES[name]
    graph = LaunchedGraph(function, make())
    driver.library.mdEmulatorReset()
    assert graph.differs(driver) is None
    counts = driver.launches().values()

    def total(what):
        return sum(launch[what] for launch in counts)

    least = graph.input_bytes + sum(result.nbytes for result in graph.expected)
    moved = SECTOR * (total("memory_load_sectors") + total("memory_store_sectors"))
    assert moved <= 1.1 * least, moved / least
    touched = SECTOR * (total("global_load_sectors") + total("global_store_sectors"))
    asked = total("global_load_bytes") + total("global_store_bytes")
    if name not in PARTLY:
        assert asked >= 0.95 * touched, asked / touched


@pytest.mark.parametrize("name", CASES)
def test_bytes(name):
    in_child({"cache": str(CACHE), "threads": "1"}, functools.partial(check, name))
