"""Each program of module_programs.py is a test."""

import pytest

from gpu.child_process import programs_of, run


@pytest.mark.parametrize("name", programs_of("module_programs"))
def test_cuda_module(name):
    run("module_programs", name)
