"""Named results of ops that a traced function builds, nested tensors it computes with, errors only a kernel has."""

import pytest

import minidynamo as torch
import minidynamo._dynamo as dynamo
from minidynamo._dynamo.testing import CompileCounter
from minidynamo.utils import _pytree as pytree


def rebuilt(x):
    m = torch.max(x, 0)
    return type(m)([m.values + 1, m.indices])


def doubled(x):
    s = pytree.tree_map(lambda t: t * 2, torch.sort(x, 1))
    return s.values, s[1], type(s) is torch.return_types.sort


def mapped(x):
    return torch.func.vmap(lambda r: (r.sort(descending=True), torch.topk(r, 2).indices), chunk_size=1)(x)


@pytest.mark.parametrize("f", [rebuilt, doubled, mapped])
def test_named_results_are_built_in_one_graph(f):
    x = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    counter = CompileCounter()
    dynamo.reset()
    made = torch.compile(f, backend=counter, fullgraph=True)(x)
    assert str(made) == str(f(x)) and counter.frame_count == 1


def test_a_wrong_number_of_items_is_the_classes_own_error():
    def f(x):
        try:
            return torch.return_types.max([x])
        except TypeError as e:
            return x, str(e)

    x = torch.ones(1)
    assert torch.compile(f, backend="eager", fullgraph=True)(x)[1] == f(x)[1]


def test_jagged_tensors_are_computed_with_in_a_graph():
    n = torch.nested.nested_tensor_from_jagged(torch.arange(10.0).reshape(5, 2), torch.tensor([0, 2, 5]))

    def f(n):
        return (n * 2 + 1).values(), n.sin().values()

    counter = CompileCounter()
    dynamo.reset()
    made = torch.compile(f, backend=counter, fullgraph=True)(n)
    assert all(torch.equal(a, b) for a, b in zip(made, f(n))) and counter.frame_count == 1


@pytest.mark.parametrize("f", [lambda z: z < z, lambda z: z.max(), lambda z: (z + 1) >= z])
def test_what_a_kernel_lacks_is_said_by_the_call_itself(f):
    dynamo.reset()
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2, dtype=torch.complex64))


X = torch.tensor([[1.0, 2.0], [0.0, 4.0]])
OPERATORS = [
    lambda x: torch.ops.aten.dropout(x, 0.5, False),
    lambda x: torch.ops.aten.pad(x, [1, 1]),
    lambda x: torch.ops.aten.narrow_copy(x, 0, 0, 1),
    lambda x: torch.ops.aten.linalg_inv(x),
    lambda x: torch.ops.aten.split_copy(x, 1),
]


@pytest.mark.parametrize("f", OPERATORS)
def test_operators_computed_in_python_are_traced(f):
    counter = CompileCounter()
    dynamo.reset()
    made = torch.compile(lambda x: f(x + 0), backend=counter, fullgraph=True)(X)
    assert str(made) == str(f(X)) and counter.frame_count == 1


@pytest.mark.parametrize("f", [lambda x: torch.ops.aten.is_same_size(x, x), lambda x: x.storage_offset()])
def test_their_answers_that_are_no_tensors_break(f):
    dynamo.reset()
    with pytest.raises(dynamo.exc.Unsupported) as e:
        torch.compile(lambda x: (x + 1, f(x)), backend="eager", fullgraph=True)(X)
    assert e.value.gb_code == "GB0208"


ASSERTS = """
def caught(x, message):
    try:
        assert len(x) > 5, {}
    except AssertionError as e:
        return x, e.args
"""  # as text: pytest rewrites the assertions of its files


@pytest.mark.parametrize("message, code", [("[message]", "GB0171"), ("[1, 2]", "GB0171"), ("'text'", "GB0034")])
def test_the_message_of_an_assertion_decides_its_code(message, code):
    space = {"__name__": "asserting"}
    exec(ASSERTS.format(message), space)
    dynamo.reset()
    with pytest.raises(dynamo.exc.Unsupported) as e:
        torch.compile(space["caught"], backend="eager", fullgraph=True)(torch.ones(2), 3)
    assert e.value.gb_code == code
