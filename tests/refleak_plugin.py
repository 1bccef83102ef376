"""pytest plugin: runs every test again and again and fails it if memory blocks or references keep growing.

    pytest -p refleak_plugin -p no:logging -p no:unraisableexception tests/frontend ...

The two other plugins keep what they have captured. A test that fails when it is run a second time in the same process
is left alone. On a debug build of Python references are counted, otherwise allocated blocks. REFLEAK_EVERY=N: every
N-th test only.
"""

import os
import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tools"))

from refleak import count  # noqa: E402

# The first runs fill tables; a leak shows in each of the others.
WARM, ROUNDS, TOLERANCE = 3, 4, 2


def growth(item):
    import minidynamo

    steps, before = [], None
    for k in range(WARM + ROUNDS):
        item.runtest()
        if "monkeypatch" in item.funcargs:  # it notes what every run has patched
            item.funcargs["monkeypatch"].undo()
        minidynamo._dynamo.reset()
        minidynamo._dynamo.utils.clear_compilation_metrics()
        now = count()
        if k >= WARM:
            steps.append(now - before)
        before = now
    return steps


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if not {"collected", "logged"} & {*item.fixturenames}]  # log records of all runs
    items[:] = items[:: int(os.environ.get("REFLEAK_EVERY", "1"))]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    yield
    try:
        steps = growth(item)
    except BaseException:  # noqa: BLE001  not made to be run twice
        return
    if min(steps) > TOLERANCE:
        pytest.fail(f"{item.nodeid} leaks: growth per run {steps}", pytrace=False)
