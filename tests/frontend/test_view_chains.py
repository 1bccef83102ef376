"""Chains of views, however long, need no deep stack: read, written through and returned, in one graph."""

import concurrent.futures
import threading

import pytest

import minidynamo as torch
from frontend.differential import same

LENGTH = 5_001  # odd: the last view is a transposed one


def viewed(x):
    for _ in range(LENGTH):
        x = x.t()
    return x


USES = {
    "read": lambda x: viewed(x) + 1,
    "written": lambda x: (viewed(x).add_(1), x * 2)[1],
    "returned": viewed,
    "written_and_returned": lambda x: viewed(x).mul_(3),
    "read_after_a_write": lambda x: (v := viewed(x), x.add_(1), v.sum(0))[2],
}


@pytest.fixture
def small_stack():
    before = threading.stack_size(256 * 1024)
    yield
    threading.stack_size(before)


@pytest.mark.parametrize("use", USES)
def test_long_chains(use, small_stack):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        check = pool.submit(same, USES[use], lambda: (torch.arange(6.0).reshape(2, 3),), frames=1, breaks=[])
        check.result()
