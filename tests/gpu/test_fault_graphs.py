"""The graphs that faults are looked for with are right where there is none, one after the other in one process."""

import pytest

from .emulated_driver import Driver, in_child
from .fault_graphs import SHAPES, graphs
from .launched_graph import LaunchedGraph


def check(shape):
    driver = Driver()
    for name, function, inputs, dynamic in graphs([shape]):
        assert LaunchedGraph(function, inputs, dynamic).differs(driver) is None, name


@pytest.mark.parametrize("shape", SHAPES)
def test_results(shape):
    in_child({}, check, shape)
