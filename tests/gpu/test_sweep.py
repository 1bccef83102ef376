"""Every method and function on tensors of a device, a quarter at a time."""

import pytest

from gpu.child_process import programs_of, run


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", programs_of("sweep_programs"))
def test_sweep(name):
    run("sweep_programs", name)
