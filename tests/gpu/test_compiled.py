"""Each program of compiled_programs.py is a test."""

import pytest

from gpu.child_process import programs_of, run


@pytest.mark.parametrize("name", programs_of("compiled_programs"))
def test_compiled(name):
    run("compiled_programs", name)
