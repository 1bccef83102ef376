"""GraphModules are modules: they train, are compiled, copied, pickled; and graphs keep their own order."""

import copy
import io
import pickle

import pytest

import minidynamo as torch
from minidynamo import fx
from minidynamo.fx import immutable_collections

F = torch.nn.functional


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 4)
        self.second = torch.nn.Linear(4, 2)
        self.register_buffer("offset", torch.ones(2))
        self.scale = torch.nn.Parameter(torch.ones(2) * 2)

    def forward(self, x, k=1.5):
        y = F.relu(self.first(x))
        return self.second(y) * self.scale + self.offset * k


def example():
    return torch.arange(15.0).reshape(5, 3) / 7 - 1


def gradients(module, *args):
    module.zero_grad()
    module(*args).pow(2).mean().backward()
    return [p.grad.clone() for p in module.parameters()]


def close(one, other):
    return len(one) == len(other) and all(torch.allclose(a, b) for a, b in zip(one, other))


@pytest.mark.parametrize("fullgraph", [True, False])
def test_compiled(fullgraph):
    net = Net()
    gm = fx.symbolic_trace(net)
    compiled = torch.compile(gm, fullgraph=fullgraph)
    assert torch.allclose(compiled(example()), net(example()))
    assert torch.allclose(compiled(example(), 3.0), net(example(), 3.0))
    assert close(gradients(compiled, example()), gradients(gm, example()))
    assert torch._dynamo.explain(gm)(example()).graph_break_count == 0


def test_compiled_follows_recompile():
    gm = fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    compiled = torch.compile(gm, fullgraph=True)
    x = example()
    assert torch.equal(compiled(x), torch.relu(x) + 1)
    next(n for n in gm.graph.nodes if n.target is torch.relu).target = torch.sin
    gm.recompile()
    assert torch.allclose(compiled(x), torch.sin(x) + 1)


def test_optimised():
    net = Net()
    gm = fx.symbolic_trace(copy.deepcopy(net))
    for module in (net, gm):
        optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
        for _ in range(3):
            optimiser.zero_grad()
            module(example()).pow(2).mean().backward()
            optimiser.step()
    state = gm.state_dict()
    assert set(state) == set(net.state_dict())
    assert all(torch.allclose(state[name], value) for name, value in net.state_dict().items())


COPIES = {
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda gm: pickle.loads(pickle.dumps(gm)),
    "trace again": fx.symbolic_trace,
    "graph": lambda gm: fx.GraphModule(gm, copy.deepcopy(gm.graph)),
    "pickled graph": lambda gm: fx.GraphModule(gm, pickle.loads(pickle.dumps(gm.graph))),
}


@pytest.mark.parametrize("kind", COPIES)
def test_copies(kind):
    gm = fx.symbolic_trace(Net())
    made = COPIES[kind](gm)
    assert made.code == gm.code and set(made.state_dict()) == set(gm.state_dict())
    assert torch.equal(made(example(), 2.0), gm(example(), 2.0))
    next(n for n in made.graph.nodes if n.name == "relu").target = torch.sin
    if kind in ("copy",):
        return
    assert all(n.target is not torch.sin for n in gm.graph.nodes)


def test_saved_and_loaded():
    gm, file = fx.symbolic_trace(Net()), io.BytesIO()
    torch.save(gm.state_dict(), file)
    file.seek(0)
    other = fx.symbolic_trace(Net())
    other.load_state_dict(torch.load(file))
    assert torch.equal(other(example()), gm(example()))


def test_modules_are_shared_with_the_root():
    net = Net()
    gm = fx.symbolic_trace(net)
    assert gm.first is net.first and gm.scale is net.scale and gm.training
    assert not fx.symbolic_trace(net.eval()).training
    assert type(gm).__name__ == "Net" and isinstance(gm, fx.GraphModule) and not isinstance(gm, Net)
    assert type(gm) is not type(fx.symbolic_trace(net))


def test_submodules():
    gm = fx.symbolic_trace(Net())
    assert gm.add_submodule("deep.er.layer", torch.nn.ReLU()) and isinstance(gm.deep.er.layer, torch.nn.ReLU)
    assert not gm.add_submodule("scale.layer", torch.nn.ReLU())
    assert gm.delete_submodule("deep.er.layer") and not gm.delete_submodule("deep.er.layer")
    gm.delete_all_unused_submodules()
    assert [name for name, _ in gm.named_modules()] == ["", "first", "second"]


def test_errors_show_the_generated_line():
    gm = fx.symbolic_trace(lambda x: x.view(7) + 1)
    with pytest.raises(RuntimeError) as caught:
        gm(torch.ones(2))
    (note,) = caught.value.__notes__
    assert "line 5 of its generated forward()" in note and "view = x.view(7);  x = None\n    ~~~ <--- HERE" in note
    with pytest.raises(RuntimeError, match="While executing %view : .num_users=1. = call_method"):
        fx.Interpreter(gm).run(torch.ones(2))
    with pytest.raises(RuntimeError, match="needs a positional argument for the input x"):
        fx.Interpreter(gm).run()


def test_graphs_refuse_what_is_out_of_order():
    graph = fx.Graph()
    a = graph.placeholder("a")
    b = graph.call_function(torch.relu, (a,))
    c = graph.call_function(torch.relu, (b,))
    with pytest.raises(RuntimeError, match="Node a cannot be erased: it is used by relu"):
        graph.erase_node(a)
    b.prepend(c)
    with pytest.raises(RuntimeError, match="used before it is defined"):
        graph.lint()
    b.append(c)
    graph.lint()
    other = fx.Graph()
    with pytest.raises(AssertionError, match="another graph"):
        other.inserting_before(b)
    with pytest.raises(AssertionError, match="another graph"):
        other.placeholder("x").prepend(b)
    other.call_function(torch.relu, (a,))
    with pytest.raises(RuntimeError, match="belongs to another graph"):
        other.lint()
    with pytest.warns(UserWarning, match="nothing.here"):
        fx.symbolic_trace(Net()).graph.get_attr("nothing.here")
    graph.erase_node(c)
    with pytest.warns(UserWarning, match="erased already"):
        graph.erase_node(c)


def test_nodes_while_the_graph_changes():
    gm = fx.symbolic_trace(lambda x: x.relu().relu().relu())
    for node in gm.graph.nodes:
        if node.target == "relu":
            node.replace_all_uses_with(node.args[0])
            gm.graph.erase_node(node)
    gm.recompile()
    assert [n.op for n in gm.graph.nodes] == ["placeholder", "output"] and gm(3) == 3
    assert [n.op for n in reversed(gm.graph.nodes)] == ["output", "placeholder"]


def test_insert_points_nest():
    graph = fx.Graph()
    x = graph.placeholder("x")
    last = graph.output(x)
    with graph.inserting_before(last):
        a = graph.call_method("a", (x,))
        with graph.inserting_after(x):
            b = graph.call_method("b", (x,))
        c = graph.call_method("c", (x,))
    with graph.inserting_before():
        first = graph.placeholder("first")
    end = graph.call_method("end", (x,))
    assert list(graph.nodes) == [first, x, b, a, c, last, end]


CHANGES = [
    (immutable_collections.immutable_list([1]), "append", (1,)),
    (immutable_collections.immutable_list([1]), "__setitem__", (0, 1)),
    (immutable_collections.immutable_list([1]), "sort", ()),
    (immutable_collections.immutable_dict(a=1), "update", ({},)),
    (immutable_collections.immutable_dict(a=1), "pop", ("a",)),
    (immutable_collections.immutable_dict(a=1), "__setitem__", ("a", 1)),
]


@pytest.mark.parametrize("value, method, args", CHANGES, ids=lambda value: str(value))
def test_arguments_are_immutable(value, method, args):
    with pytest.raises(TypeError, match="does not support mutation"):
        getattr(value, method)(*args)
    assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)


def test_normalised_arguments():
    gm = fx.symbolic_trace(lambda x: F.softmax(F.relu(x), -1))
    relu, softmax = (n for n in gm.graph.nodes if n.op == "call_function")
    assert relu.normalized_arguments(gm) == ((relu.args[0],), {"inplace": False})
    assert softmax.normalized_arguments(gm, normalize_to_only_use_kwargs=True) == (
        (),
        {"input": relu, "dim": -1, "_stacklevel": 3, "dtype": None},
    )
    assert next(iter(gm.graph.nodes)).normalized_arguments(gm) is None
    traced = fx.symbolic_trace(Net())
    first = next(n for n in traced.graph.nodes if n.op == "call_module")
    assert first.normalized_arguments(traced, normalize_to_only_use_kwargs=True) == ((), {"input": first.args[0]})


def test_split_partitions_that_need_each_other():
    from minidynamo.fx.passes.split_module import split_module

    gm = fx.symbolic_trace(lambda x: x.relu().sin().relu())
    with pytest.raises(RuntimeError, match="need what each other computes"):
        split_module(gm, gm, lambda n: n.target)


@pytest.mark.parametrize("call", ["to_folder", "colored", "verbose", "fake_mode"])
def test_what_is_not_there_says_so(call):
    gm = fx.symbolic_trace(Net())
    with pytest.raises(NotImplementedError):
        {
            "to_folder": lambda: gm.to_folder("x"),
            "colored": lambda: gm.print_readable(colored=True),
            "verbose": lambda: gm.graph.python_code("self", record_func=True),
            "fake_mode": lambda: fx.passes.shape_prop.ShapeProp(gm, fake_mode=object()),
        }[call]()


def test_a_tensor_among_arguments_is_written_down():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.mul, (x, torch.ones(2, 1))))
    code = fx.GraphModule(torch.nn.Module(), graph).code
    assert "torch.mul(x, torch.Tensor(size=[2, 1], dtype=float32))" in code


def test_measured_parts_of_a_graph():
    """The ops that a tracer puts around calls to measure them: they stay, and a profile has their names."""
    net = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())
    graph = torch.fx.symbolic_trace(net).graph
    for node in list(graph.nodes):
        if node.op != "call_module":
            continue
        with graph.inserting_before(node):
            part = graph.call_function(torch.ops.profiler._record_function_enter, (node.target,))
        with graph.inserting_after(node):
            graph.call_function(torch.ops.profiler._record_function_exit, (part,))
    graph.eliminate_dead_code()
    measured = torch.fx.GraphModule(net, graph)
    assert measured.code.count("torch.ops.profiler._record_function_enter(") == 2
    with torch.autograd.profiler.profile() as prof:
        measured(torch.ones(2))
    rows = {row.key: row.count for row in prof.key_averages()}
    ops = {"aten::ones": 1, "aten::relu": 1, "aten::tanh": 1}  # a profile lists the ops that run, too
    assert rows == {"0": 1, "1": 1, **ops}


def test_columns_of_a_table_are_two_wider_than_their_headings(capsys):
    torch.fx.symbolic_trace(lambda x: x).graph.print_tabular()
    assert capsys.readouterr().out.splitlines()[1] == "-----------  ------  --------  ------  --------"
