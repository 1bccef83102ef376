"""The graphs that faults are looked for with are right where there is none, one after the other in one process, and do
no more than they did (`python -m tests.gpu.counts --write`).
"""

import pytest

from . import counts
from .emulated_driver import emulated
from .fault_graphs import SHAPES, graphs
from .launched_graph import LaunchedGraph


@pytest.mark.parametrize("shape", SHAPES)
def test_results(shape):
    @emulated()
    def check(driver):
        before = counts.kept()
        for name, function, inputs, dynamic in graphs([shape]):
            graph = LaunchedGraph(function, inputs, dynamic)
            driver.library.mdEmulatorReset()
            assert graph.differs(driver) is None, name
            assert not (more := counts.worse(before[name], counts.totals(driver))), f"{name}: {more}"

    check()
