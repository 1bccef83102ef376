"""Where graphs end does not depend on devices: codes, places, hints, counts and results of every scenario."""

import pytest

from gpu.break_programs import FOR_THE_CPU
from gpu.child_process import run
from graph_breaks.test_scenarios import FILES

NAMES = [path.stem for path in FILES]


@pytest.mark.parametrize("name", NAMES)
def test_scenario_on_a_device(name):
    run("break_programs", name)


def test_exceptions_are_files():
    assert {*NAMES} >= FOR_THE_CPU
