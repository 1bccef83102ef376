"""Each program of error_programs.py is a test."""

import pytest

from gpu.child_process import programs_of, run


@pytest.mark.parametrize("name", programs_of("error_programs"))
def test_errors(name):
    run("error_programs", name)
