"""Byte counts that overflow, or that no memory holds: an error, plain and compiled, whichever op made them."""

import pytest

import minidynamo as torch
from minidynamo.nn import functional as F

BIG = 2**61


def wide(n=BIG):
    return torch.zeros(1).expand(n)


CALLS = {
    "zeros": lambda: torch.zeros(BIG, 4) + 1,
    "expand": lambda: torch.zeros(1).expand(BIG, 4),
    "expanded": lambda: wide() + 1,
    "clone": lambda: wide().clone(),
    "outer": lambda: torch.outer(wide(2**33), wide(2**33)),
    "mm": lambda: torch.mm(torch.zeros(1, 1).expand(2**31, 1), torch.zeros(1, 1).expand(1, 2**31)),
    "repeat": lambda: torch.zeros(4).repeat(2**62),
    "tile": lambda: torch.zeros(3).tile(2**62),
    "cat": lambda: torch.cat([wide(2**62), wide(2**62)]),
    "cat-of-one": lambda: torch.cat([wide(2**62)]),
    "stack": lambda: torch.stack([wide(), wide()]),
    "arange": lambda: torch.arange(2**62),
    "arange-all": lambda: torch.arange(-(2**63), 2**63 - 1),
    "arange-small-steps": lambda: torch.arange(0.0, 1.0, 1e-300),
    "arange-to-inf": lambda: torch.arange(0.0, float("inf")),
    "arange-to-nan": lambda: torch.arange(0.0, float("nan")),
    "arange-nan-step": lambda: torch.arange(0.0, 1.0, float("nan")),
    "linspace": lambda: torch.linspace(0, 1, 2**62),
    "full": lambda: torch.full((2**31, 2**31, 2), 1),
    "eye": lambda: torch.eye(2**62),
    "rand": lambda: torch.rand(2**62),
    "randperm": lambda: torch.randperm(2**62),
    "empty_strided": lambda: torch.empty_strided((2, 2), (2**62, 1)),
    "as_strided": lambda: torch.zeros(4).as_strided((3,), (2**62,)),
    "as_strided-elements": lambda: torch.zeros(4).as_strided((2**40, 2**40), (0, 0)),
    "pad": lambda: F.pad(torch.zeros(3), (2**62, 2**62)),
    "resize_": lambda: torch.zeros(4).resize_(2**62),
    "resize_-wraps": lambda: torch.zeros(4).resize_(2**62, 4),
    "repeat_interleave": lambda: torch.zeros(3).repeat_interleave(2**62),
    "kron": lambda: torch.kron(wide(2**40), wide(2**40)),
    "diag": lambda: torch.diag(torch.zeros(3), 2**62),
    "fold": lambda: F.fold(torch.zeros(1, 1, 1), (2**40, 2**40), 1),
    "conv-padding": lambda: F.conv1d(torch.zeros(1, 1, 3), torch.zeros(1, 1, 1), padding=2**62),
    "interpolate": lambda: F.interpolate(torch.zeros(1, 1, 3), 2**62),
}


@pytest.mark.parametrize("compiled", ["plain", "machine code", "background", "eager"])
@pytest.mark.parametrize("name", CALLS)
def test_raises(name, compiled):
    call = CALLS[name]
    if compiled != "plain":
        call = torch.compile(call, backend="eager") if compiled == "eager" else torch.compile(call)
    with torch._dynamo.config.patch(background_compile=compiled == "background"):
        for _ in range(2):
            with pytest.raises((RuntimeError, MemoryError)):
                call()


@pytest.mark.parametrize("background", [False, True])
def test_dynamic_sizes_that_do_not_fit(background):
    def f(x, n):
        return x.expand(n, x.shape[0]) + 1

    g = torch.compile(f, dynamic=True)
    with torch._dynamo.config.patch(background_compile=background):
        assert g(torch.zeros(3), 5).shape == (5, 3)
        assert g(torch.zeros(4), 6).shape == (6, 4)
        for n in (2**60, 2**61, 2**62, 2**63 - 1):
            with pytest.raises((RuntimeError, MemoryError)):
                g(torch.zeros(4), n)
        assert g(torch.zeros(4), 7).sum().item() == 28


def test_no_elements_need_no_memory():
    assert torch.full((2**31, 2**31, 0), 1).shape == (2**31, 2**31, 0)
    assert torch.zeros(2**62, 0).expand(2**62, 0).sum().item() == 0
    assert torch.zeros(4).as_strided((0,), (2**62,), 2**62).shape == (0,)
