"""Settings that are as they are: what can be asked for is granted, the rest refused."""

import pytest

import minidynamo as torch


def test_threads_between_operations():
    assert torch.get_num_interop_threads() == 1
    torch.set_num_interop_threads(1)
    for number, error in ((4, NotImplementedError), (0, RuntimeError), ("1", TypeError)):
        with pytest.raises(error):
            torch.set_num_interop_threads(number)


def test_denormal_numbers_are_kept():
    assert torch.set_flush_denormal(True) is False and torch.set_flush_denormal(False) is True
    assert torch.tensor(1e-310, dtype=torch.float64).item() / 2 > 0
    with pytest.raises(TypeError):
        torch.set_flush_denormal(1)
