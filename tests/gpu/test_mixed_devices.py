"""Each program of mixed_programs.py is a test."""

import pytest

from gpu.child_process import programs_of, run


@pytest.mark.parametrize("name", programs_of("mixed_programs"))
def test_mixed_devices(name):
    run("mixed_programs", name, MINIDYNAMO_BACKGROUND_COMPILE="0")
