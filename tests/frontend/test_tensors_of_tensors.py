"""tensor() and as_tensor() of tensors, and of nested lists of tensors without dimensions, are part of the graph."""

import pytest

import minidynamo as torch

CALLS = [
    lambda x: torch.tensor(x),
    lambda x: torch.tensor(x, dtype=torch.int64),
    lambda x: torch.tensor(x, device="cpu"),
    lambda x: torch.as_tensor(x),
    lambda x: torch.as_tensor(x, dtype=torch.float64, device=None),
    lambda x: torch.tensor([x[0], x[1]]),
    lambda x: torch.as_tensor([x.sum(), 1]),
    lambda x: torch.tensor([[x[0], 2], (3, x[2])], dtype=torch.int64),
    lambda x: torch.tensor([x[0].double(), 1.5]),
    lambda x: torch.tensor([x[0].half(), 1]),
    lambda x: torch.tensor([True, x[1].bool()]),
    lambda x: torch.tensor([x[0].int(), 2.5]),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_whole(number):
    torch._dynamo.reset()
    call = CALLS[number]
    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    expected = call(x)
    for backend in ("eager", "inductor"):
        found = torch.compile(call, backend=backend, fullgraph=True)(x)
        assert found.dtype == expected.dtype and found.requires_grad == expected.requires_grad
        assert torch.equal(found, expected)


def test_as_tensor_is_the_tensor_and_tensor_a_copy():
    x = torch.ones(2)
    assert torch.compile(lambda x: torch.as_tensor(x, dtype=torch.float32), fullgraph=True)(x) is x
    assert torch.compile(lambda x: torch.tensor(x), fullgraph=True)(x).data_ptr() != x.data_ptr()


def test_subclass_made_by_as_tensor():
    class Unit(torch.Tensor):
        @staticmethod
        def __new__(cls, data, unit):
            made = torch.as_tensor(data, dtype=torch.float32).as_subclass(cls)
            made.unit = unit
            return made

    def program(x):
        made = Unit(x, "s")
        return made + 1, made.unit

    found, unit = torch.compile(program, backend="eager", fullgraph=True)(torch.ones(2))
    assert type(found) is Unit and unit == "s" and found.tolist() == [2.0, 2.0]


def test_scalar_of_an_array():
    def program(x):
        n = x.numpy()
        return torch.tensor(n.max()), torch.as_tensor(n.sum() * 2), torch.tensor(n.argmax(), dtype=torch.int32)

    x = torch.tensor([0.0, 1.0, 2.0])
    expected = program(x)
    found = torch.compile(program, backend="eager", fullgraph=True)(x)
    assert [(t.dtype, t.item()) for t in found] == [(t.dtype, t.item()) for t in expected]
