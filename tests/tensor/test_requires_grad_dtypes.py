"""Only floating dtypes require gradients, by whichever way a tensor comes to be."""

import array

import numpy as np
import pytest

import minidynamo as torch

WHOLE = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def made(dtype):
    return torch.zeros(2, dtype=dtype)


ROUTES = {
    "tensor": lambda t: torch.tensor([0, 1], dtype=t, requires_grad=True),
    "asarray": lambda t: torch.asarray([0, 1], dtype=t, requires_grad=True),
    "asarray-tensor": lambda t: torch.asarray(made(t), requires_grad=True),
    "asarray-converts": lambda t: torch.asarray(torch.zeros(2), dtype=t, requires_grad=True),
    "frombuffer": lambda t: torch.frombuffer(array.array("b", bytes(16)), dtype=t, requires_grad=True),
    "method": lambda t: made(t).requires_grad_(),
    "Parameter": lambda t: torch.nn.Parameter(made(t)),
    "rebuild": lambda t: torch._C._rebuild_tensor(bytes(2 * made(t).element_size()), (2,), t, True, torch.Tensor),
    "rebuild_view": lambda t: torch._C._rebuild_view(
        torch.zeros(16, dtype=torch.uint8), (2,), (1,), 0, t, True, torch.Tensor
    ),
}
for name in ("zeros", "ones", "empty"):
    ROUTES[name] = lambda t, name=name: getattr(torch, name)(2, dtype=t, requires_grad=True)
    ROUTES[name + "_like"] = lambda t, name=name: getattr(torch, name + "_like")(made(t), requires_grad=True)
    ROUTES["new_" + name] = lambda t, name=name: getattr(made(t), "new_" + name)(2, requires_grad=True)
ROUTES["full"] = lambda t: torch.full((2,), 1, dtype=t, requires_grad=True)
ROUTES["full_like"] = lambda t: torch.full_like(made(t), 1, requires_grad=True)
ROUTES["new_full"] = lambda t: made(t).new_full((2,), 1, requires_grad=True)
ROUTES["empty_strided"] = lambda t: torch.empty_strided((2,), (1,), dtype=t, requires_grad=True)
ROUTES["eye"] = lambda t: torch.eye(2, dtype=t, requires_grad=True)


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
@pytest.mark.parametrize("route", ROUTES)
def test_refused(route, dtype):
    with pytest.raises(RuntimeError, match="(?i)floating point"):
        ROUTES[route](dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("route", ROUTES)
def test_floats_may(route, dtype):
    assert ROUTES[route](dtype).requires_grad


def test_every_op_of_the_table_that_takes_it():
    names = {n for n in dir(torch._C) if "requires_grad" in (getattr(getattr(torch._C, n), "__doc__", None) or "")}
    tried = 0
    for name in sorted(names):
        for args in ((2,), ((2,), 1), (0, 2, 2), (torch.zeros(2, dtype=torch.int64),), (0, 2, (2,)), ((2,), (1,))):
            try:
                t = getattr(torch._C, name)(*args, dtype=torch.int64, requires_grad=True)
            except (RuntimeError, TypeError, NotImplementedError, ValueError, AttributeError):
                tried += 1
                continue
            assert not t.requires_grad, name
    assert tried > 10


def test_the_attribute_and_arrays():
    for dtype in WHOLE:
        t = made(dtype)
        with pytest.raises(RuntimeError, match="floating point"):
            t.requires_grad = True
        t.requires_grad = False
        assert not t.requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        torch.from_numpy(np.arange(3)).requires_grad_()
