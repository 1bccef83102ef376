"""Exported programs: dynamic sizes and what they promise, signatures, other nestings, other graphs."""

import dataclasses
import io

import pytest

import minidynamo as torch
from minidynamo._dynamo.exc import Unsupported, UserError
from minidynamo.export import AdditionalInputs, Dim, ShapesCollection, export, unflatten
from minidynamo.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from minidynamo.nn import functional

nn = torch.nn


def module_of(f):
    class Made(nn.Module):
        pass

    Made.forward = f
    return Made()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 3)
        nn.init.ones_(self.inner.weight)
        nn.init.zeros_(self.inner.bias)
        self.register_buffer("kept", torch.ones(3))
        self.register_buffer("left", torch.ones(1), persistent=False)

    def forward(self, x):
        return functional.relu(self.inner(x)) + self.kept + self.left


def targets(program):
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


def ramp(n):
    return torch.arange(float(n))


def test_signature():
    program = export(Layer(), (torch.ones(4, 2),))
    signature = program.graph_signature
    assert targets(program) == ["aten.linear.default", "aten.relu.default", "aten.add.Tensor", "aten.add.Tensor"]
    assert [n.name for n in program.graph.nodes][:5] == ["p_inner_weight", "p_inner_bias", "b_kept", "b_left", "x"]
    assert signature.buffers == ("kept", "left")
    assert signature.non_persistent_buffers == ("left",)
    assert dict(signature.inputs_to_parameters) == {"p_inner_weight": "inner.weight", "p_inner_bias": "inner.bias"}
    assert dict(signature.buffers_to_mutate) == {}
    assert list(program.state_dict) == ["inner.weight", "inner.bias", "kept"]
    assert list(program.constants) == ["left"]
    assert [entry.fqn for entry in program.module_call_graph] == ["", "inner"]
    program.validate()
    with pytest.raises(RuntimeError, match="ExportedProgram"):
        program(torch.ones(4, 2))


def add(self, x, y):
    return x + y


def longer_than_five(self, x):
    return x + 1 if x.shape[0] > 5 else x - 1


def is_even(self, x):
    return x.reshape(2, -1)


A, B = Dim("a"), Dim("b")
PROMISES = {  # forward, sizes of the arguments, dims; what else is not as promised
    "two names for equal sizes": (add, (3, 3), ({0: A}, {0: B})),
    "a branch": (longer_than_five, (3,), ({0: A},)),
    "a branch, bounded": (longer_than_five, (7,), ({0: Dim("c", min=4, max=9)},)),
    "halves": (is_even, (4,), ({0: A},)),
}


@pytest.mark.parametrize("name", PROMISES)
def test_promises_that_do_not_hold(name):
    forward, sizes, dims = PROMISES[name]
    with pytest.raises(UserError, match="Constraints violated"):
        export(module_of(forward), tuple(map(ramp, sizes)), dynamic_shapes=dims)


KEPT = {
    "one name": (add, (3, 3), ({0: A}, {0: A}), (5, 5), (5, 6)),
    "within bounds": (longer_than_five, (7,), ({0: Dim("c", min=6, max=9)},), (8,), (5,)),
    "twice": (is_even, (4,), ({0: 2 * A},), (6,), (7,)),
    "automatic": (longer_than_five, (3,), ({0: Dim.AUTO},), (4,), (9,)),
    "one more": (lambda self, x, y: x + y[1:], (3, 4), ({0: A}, {0: A + 1}), (5, 6), (5, 5)),
}


@pytest.mark.parametrize("name", KEPT)
def test_promises_that_hold(name):
    forward, sizes, dims, fitting, others = KEPT[name]
    module = module_of(forward)
    program = export(module, tuple(map(ramp, sizes)), dynamic_shapes=dims)
    given = tuple(map(ramp, fitting))
    assert torch.equal(program.module()(*given), module(*given))
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(*map(ramp, others))


def test_bounds_are_told():
    dims = ({0: Dim("n", min=2, max=64)}, {0: Dim.STATIC})
    program = export(module_of(lambda self, x, y: x * y.sum()), (ramp(3), ramp(3)), dynamic_shapes=dims)
    assert [(b.lower, b.upper) for b in program.range_constraints.values()] == [(2, 64)]


WRONG = {
    "another name": {"q": {0: A}},
    "a text": {"x": {0: "a"}, "y": None},
    "too few": ({0: A},),
    "too many sizes": ((A, None), None),
    "out of bounds": ({0: Dim("d", min=10)}, {0: Dim("d", min=10)}),
    "no nesting": 5,
}


@pytest.mark.parametrize("name", WRONG)
def test_shapes_that_cannot_be_meant(name):
    with pytest.raises(UserError):
        export(module_of(add), (ramp(3), ramp(3)), dynamic_shapes=WRONG[name])


def test_sizes_among_the_results():
    def forward(self, x):
        return x * 2, {"n": x.shape[0] + 1, "k": 3, "t": True}

    program = export(module_of(forward), (ramp(3),), dynamic_shapes=({0: A},))
    assert program.module()(ramp(6))[1] == {"n": 7, "k": 3, "t": True}


def test_shapes_by_tensor_and_by_examples():
    x, y = ramp(3), ramp(3)
    shapes = ShapesCollection()
    shapes[x] = {0: A}
    shapes[y] = {0: A}
    more = AdditionalInputs()
    more.add((ramp(4), ramp(4)))
    for way in (shapes, more):
        module = module_of(add)
        program = export(module, (x, y), dynamic_shapes=way.dynamic_shapes(module, (x, y)))
        assert program.module()(ramp(7), ramp(7)).shape == (7,)
    shapes[ramp(2)] = {0: B}
    with pytest.raises(ValueError, match="none of the arguments"):
        shapes.dynamic_shapes(module_of(add), (x, y))


def test_arguments_are_those_of_the_export():
    def forward(self, d, *, k=1):
        return d["a"] * k

    called = export(module_of(forward), ({"a": ramp(2)},), {"k": 2}).module()
    assert called({"a": ramp(2)}, k=2).tolist() == [0, 2]
    with pytest.raises(AssertionError, match="k == 2"):
        called({"a": ramp(2)}, k=3)
    with pytest.raises(ValueError):
        called()


@dataclasses.dataclass
class Pair:
    left: torch.Tensor
    right: torch.Tensor = None


def test_dataclasses():
    torch.export.register_dataclass(Pair)
    torch.export.register_dataclass(Pair)
    program = export(module_of(lambda self, p: Pair(p.left + 1, p.left * 2)), (Pair(ramp(2), ramp(2)),))
    found = program.module()(Pair(ramp(2) + 1, ramp(2)))
    assert (found.left.tolist(), found.right.tolist()) == ([2, 3], [2, 4])
    with pytest.raises(ValueError):
        torch.export.register_dataclass(int)


def test_plain_python_runs_once():
    seen = []

    def forward(self, x):
        print(len(seen), file=io.StringIO())
        seen.append(1)
        return x + 1

    program = export(module_of(forward), (ramp(2),))
    seen.clear()
    assert program.module()(ramp(2)).tolist() == [1, 2]
    assert not seen
    with pytest.raises(Unsupported):
        export(module_of(lambda self, x: (print(1), x + 1)), (ramp(2),), strict=True)


def test_elements_decide():
    def forward(self, x):
        return x if x.sum() > 0 else -x

    with pytest.raises(GuardOnDataDependentSymNode):
        export(module_of(forward), (ramp(2),))
    with pytest.raises(Unsupported):
        export(module_of(forward), (ramp(2),), strict=True)


def test_other_graphs():
    program = export(Layer(), (torch.ones(4, 2),))
    x = torch.tensor([[1.0, 2.0]]).expand(4, 2)
    parts = program.run_decompositions()
    assert "aten.linear.default" not in targets(parts)
    assert targets(program.run_decompositions({})) == targets(program)

    def product(x, w, b=None):
        return x @ w.t() + b

    replaced = program.run_decompositions({torch.ops.aten.linear.default: product})
    assert targets(replaced)[0] == "aten.t.default"
    for made in (parts, replaced):
        assert torch.equal(made.module()(x), program.module()(x))
        assert made.graph_signature.parameters == program.graph_signature.parameters


def test_modules_again():
    module = nn.Sequential(Layer(), nn.ReLU())
    program = export(module, (torch.ones(4, 2),))
    tree = unflatten(program)
    assert [name for name, _ in tree.named_modules()] == ["", "0", "0.inner", "1"]
    assert torch.equal(tree(torch.ones(4, 2)), module(torch.ones(4, 2)))
    tree.set_submodule("0", nn.Linear(2, 1))
    assert tree(torch.ones(4, 2)).shape == (4, 1)


def test_layers_that_the_compiler_knows_in_parts():
    for module, x, expected in [
        (nn.Linear(3, 2), torch.ones(4, 5, 3), ["aten.linear.default"]),
        (nn.Linear(3, 2), torch.ones(3), ["aten.linear.default"]),
        (nn.Linear(3, 2, bias=False), torch.ones(4, 3), ["aten.linear.default"]),
        (nn.Sequential(nn.Dropout(0.2)), torch.ones(3), ["aten.dropout.default"]),
    ]:
        program = export(module, (x,))
        assert targets(program) == expected
        if "dropout" not in expected[0]:
            held = [*program.state_dict.values(), x]
            assert torch.equal(program.graph_module(*held)[0], module(x))
