"""Functions and objects kept whole, as the rest of the program sees them: results of any size, attributes, identity."""

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo._dynamo.testing import CompileCounter, EagerAndRecordGraphs


@torch.compiler.allow_in_graph
def selected(x):
    return x[x > 0], torch.nonzero(x)


@torch.compiler.allow_in_graph
def of_numpy(x):
    return torch.from_numpy(np.unique(x.numpy()))


def test_functions_kept_whole_whose_sizes_depend_on_values():
    """A break where the tracer can tell; where it cannot, plain Python goes on with what the call gave."""
    same(lambda x: selected(x * 2)[0] + 1, lambda: (torch.arange(-2.0, 3.0),), breaks=["GB0036"])
    calls = []

    @torch.compiler.allow_in_graph
    def unlike_before(x):
        calls.append(1)
        return (x, x + 1) if len(calls) % 2 else {"a": x}

    compiled = torch.compile(lambda x: unlike_before(x * 2), backend="eager")
    assert compiled(torch.ones(1))["a"].item() == 2  # a run on fake tensors and one on the tensor
    assert len(calls) == 2
    for backend in ("eager", "llvm"):
        torch._dynamo.reset()
        f = torch.compile(lambda x: of_numpy(x + 1) * 2, backend=backend)
        for _ in range(2):
            assert f(torch.tensor([1.0, 2.0, 1.0])).tolist() == [4, 6]


def test_a_wrong_rule_is_shown_by_its_structure():
    @torch.library.custom_op("test_treatments::one_of_two", mutates_args=())
    def one_of_two(x: torch.Tensor) -> list[torch.Tensor]:
        return [x * 2]

    @one_of_two.register_fake
    def _(x):
        return [torch.empty_like(x), torch.empty_like(x)]

    with pytest.raises(Exception, match=r"returned \[Tensor\], .* a result like \[Tensor, Tensor\]"):
        torch.compile(lambda x: one_of_two(x)[0], backend="eager")(torch.ones(2))


class Counting:
    def __init__(self):
        self.count = 0
        self.scale = 2

    def __call__(self, x):
        return x * self.scale

    def step(self, x):
        before = self.count
        torch._dynamo.graph_break()
        self.count = before + 1
        return x + before


def test_a_marked_object_is_an_object_like_any_other():
    """allow_in_graph marks calls of an object; its attributes change, and are changed, as ever."""
    plain, marked = Counting(), torch.compiler.allow_in_graph(Counting())
    compiled = torch.compile(marked.step, backend="eager")
    for k in range(4):
        assert compiled(torch.ones(1)).item() == plain.step(torch.ones(1)).item() == 1 + k
    assert marked.count == plain.count == 4

    def f(x, o):
        o.count += 1
        y = o(x) + o.scale
        return y + o.count

    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter)
    for scale in (2, 3, 3):
        plain.scale = marked.scale = scale
        assert compiled(torch.ones(1), marked).item() == f(torch.ones(1), plain).item()
    assert marked.count == plain.count
    plain.scale = 5  # not marked: traced
    assert compiled(torch.ones(1), plain).item() == 5 + 5 + plain.count


def test_attributes_of_a_marked_function():
    @torch.compiler.allow_in_graph
    def whole(x):
        return x * 2

    def f(x):
        return whole(x) + whole.shift if hasattr(whole, "shift") else whole(x)

    compiled = torch.compile(f, backend="eager")
    assert compiled(torch.ones(1)).item() == 2
    for shift in (1, 2, 2.5):
        whole.shift = shift
        assert compiled(torch.ones(1)).item() == f(torch.ones(1)).item() == 2 + shift


def test_a_tensor_handed_through_is_one_object():
    """What .to() gives where nothing changes is its operand, also as two results of a graph."""

    def f(x):
        y = x * 2
        z = y.to(torch.float64)
        return y, z, [z, y.contiguous()]

    for backend in ("eager", "llvm"):
        torch._dynamo.reset()
        compiled = torch.compile(f, backend=backend)
        for dtype in (torch.float32, torch.float64):
            y, z, (again, same_y) = compiled(torch.ones(3, dtype=dtype))
            assert (y is z) == (dtype == torch.float64) and again is z and same_y is y


class Marked:
    @staticmethod
    def doubled(x):
        return x * 2


def test_nodes_call_the_marked_function_itself():
    def local(x):
        return x - 1

    tripled = lambda x: x * 3  # noqa: E731  a function without a name
    for each in (Marked.doubled, local, tripled):
        torch._dynamo.allow_in_graph(each)
    backend = EagerAndRecordGraphs()
    compiled = torch.compile(lambda x: tripled(local(Marked.doubled(x))) + local(x), backend=backend, fullgraph=True)
    assert compiled(torch.ones(1)).item() == 3
    calls = [node for node in backend.graphs[0].graph.nodes if node.op == "call_function"]
    assert [node.target for node in calls[:4]] == [Marked.doubled, local, tripled, local]
    assert [node.name for node in calls[:4]] == ["doubled", "local", "_lambda_", "local_1"]
    again = torch.fx.GraphModule({}, backend.graphs[0].graph)
    assert again(torch.ones(1))[0].item() == 3


def test_sums_with_sizes_are_sizes_of_ints():
    def f(x):
        first, second = x.shape + (True,), (False, 2) + x[0].shape
        return x + 1, first, second, [type(size).__name__ for size in first + second], x.shape + ()

    same(f, lambda: (torch.ones(1, 2),), frames=1, breaks=[])
    same(f, lambda: (torch.ones(3),), frames=1, breaks=[])
