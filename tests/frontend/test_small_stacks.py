"""Threads whose C stack is small compile like others: what is kept in reserve is a part of what there is."""

import concurrent.futures
import threading

import pytest

import minidynamo as torch

pytestmark = pytest.mark.usefixtures("no_defects")


def f(x, k):
    return {"sum": [x + k, (x * 2).relu()], "shape": tuple(x.shape)}


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("size", [256 * 1024, 512 * 1024, 1024 * 1024, 2 * 1024 * 1024])
def test_one_graph(size, backend):
    before = threading.stack_size(size)
    try:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            call = torch.compile(f, backend=backend, fullgraph=True)
            found = pool.submit(call, torch.ones(3), 2).result()
    finally:
        threading.stack_size(before)
    assert str(found) == str(f(torch.ones(3), 2))
