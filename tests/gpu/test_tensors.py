"""Tensors on a device, as programs use them; each program of tensor_programs.py is a test."""

import pytest

from gpu.child_process import programs_of, run


@pytest.mark.parametrize("name", programs_of("tensor_programs"))
def test_tensors(name):
    run("tensor_programs", name)
