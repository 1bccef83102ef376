"""The graphs that faults are looked for with are right where there is none, one after the other in one process."""

import pytest

from .emulated_driver import Driver
from .fault_graphs import SHAPES, graphs
from .launched_graph import LaunchedGraph


@pytest.mark.parametrize("shape", SHAPES)
def test_results(shape):
    driver = Driver()
    for name, function, inputs, dynamic in graphs([shape]):
        assert LaunchedGraph(function, inputs, dynamic).differs(driver) is None, name
