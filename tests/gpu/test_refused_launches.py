"""A driver that refuses launches in the middle of a compiled graph: what the graph writes is written once."""

import ctypes

import pytest

import minidynamo as torch

from .emulated_driver import LIBRARY

EMULATOR = ctypes.CDLL(str(LIBRARY))


def two_inputs(x, y):
    x.add_(1)
    y.mul_(2)
    return x.sum() + y.sum(), x * 3


def after_a_fold(x, y):
    r = torch.softmax(x, 0)
    x.add_(r)
    y.t().add_(1)
    y.mul_(2)
    return r


def a_step(x, y):
    """As optimisers do: each is written from both."""
    y.mul_(0.9).add_(x, alpha=0.1)
    x.sub_(y / (y.abs().sqrt() + 1e-3))
    return (x @ y.t()).sum()


def made(function, device):
    x = torch.arange(24.0, device=device).view(4, 6) if function is a_step else torch.arange(8.0, device=device)
    return x, torch.ones(4, 6, device=device)


@pytest.mark.parametrize("refused", [1, 2, 3])
@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
@pytest.mark.parametrize("function", [two_inputs, after_a_fold, a_step])
def test_what_is_written_is_written_once(function, mode, refused):
    torch._dynamo.reset()
    compiled = torch.compile(function, mode=mode)
    old, new = made(function, "cpu"), made(function, "cpu")
    function(*new)
    for _ in range(3):
        compiled(*made(function, "cuda"))
    for first in range(1, 9):
        given = made(function, "cuda")
        torch.cuda.synchronize()
        faults = [f"{call}:{first + k}=1" for k in range(refused) for call in ("cuLaunchKernel", "cuGraphLaunch")]
        assert EMULATOR.mdEmulatorSetFaults(";".join(faults).encode())
        try:
            compiled(*given)
        except torch.AcceleratorError:
            assert refused > 1
            for t, before, after in zip(given, old, new, strict=True):
                assert torch.equal(t.cpu(), before) or torch.equal(t.cpu(), after)
        else:
            assert all(torch.equal(t.cpu(), after) for t, after in zip(given, new, strict=True)), (first, given, new)
        finally:
            EMULATOR.mdEmulatorSetFaults(b"")
        given = made(function, "cuda")
        compiled(*given)
        assert all(torch.equal(t.cpu(), after) for t, after in zip(given, new, strict=True))


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_what_writes_nothing_is_repeated(mode):
    def drawn(x):
        r = torch.rand(8, device="cuda")
        return (x * r).cumsum(0), (x + r).sort()[0]

    torch._dynamo.reset()
    compiled, x, found = torch.compile(drawn, mode=mode), torch.arange(8.0, device="cuda"), []
    for _ in range(3):
        compiled(x)
    for first in (0, *range(1, 6)):
        torch.manual_seed(4)
        torch.cuda.synchronize()
        calls = [f"{call}:{first + k}=1" for k in range(2) for call in ("cuLaunchKernel", "cuGraphLaunch")]
        assert EMULATOR.mdEmulatorSetFaults(";".join(calls).encode() if first else b"")
        results = compiled(x)
        EMULATOR.mdEmulatorSetFaults(b"")
        found.append([t.tolist() for t in (*results, torch.rand(3, device="cuda"))])
    assert all(each == found[0] for each in found)
