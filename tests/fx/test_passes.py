"""Passes over graph modules, run in a row; sizes without computing; graphs of operators kept by a backend."""

import pytest

import minidynamo as torch
from minidynamo import fx
from minidynamo._dynamo.testing import AotEagerAndRecordGraphs
from minidynamo.fx.passes.fake_tensor_prop import FakeTensorProp
from minidynamo.fx.passes.infra.pass_base import PassBase, PassResult
from minidynamo.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper, this_before_that_pass_constraint


class Halve(PassBase):
    """Takes one relu out of the graph."""

    def requires(self, graph_module):
        if not len(graph_module.graph.nodes):
            raise ValueError("an empty graph")

    def call(self, graph_module):
        for node in graph_module.graph.find_nodes(op="call_function", target=torch.relu):
            node.replace_all_uses_with(node.args[0])
            graph_module.graph.erase_node(node)
            return PassResult(graph_module, True)
        return PassResult(graph_module, False)


def traced():
    return fx.symbolic_trace(lambda x: torch.relu(torch.relu(torch.neg(x))))


def test_a_pass():
    result = Halve()(traced())
    assert result.modified
    with pytest.raises(NotImplementedError):
        PassBase()(traced())
    with pytest.raises(ValueError, match="empty"):
        Halve()(fx.GraphModule(torch.nn.Module(), fx.Graph()))


@pytest.mark.parametrize("steps, left", [(1, 1), (2, 0), (9, 0)])
def test_passes_in_a_row(steps, left):
    checked = []
    manager = PassManager([Halve()], steps=steps, run_checks_after_each_pass=True)
    manager.add_checks(lambda gm: checked.append(len(gm.graph.nodes)))
    result = manager(traced())
    assert result.modified
    assert len(result.graph_module.graph.find_nodes(op="call_function", target=torch.relu)) == left
    assert result.graph_module(torch.tensor([-1.0, 2.0])).tolist() == ([1, 0] if left else [1, -2])
    assert checked[0] == 5


def test_order_and_results_of_passes():
    first, second = pass_result_wrapper(lambda gm: None), pass_result_wrapper(lambda gm: gm)
    manager = PassManager([second, first], [this_before_that_pass_constraint(first, second)])
    with pytest.raises(RuntimeError, match="constraint"):
        manager(traced())
    with pytest.raises(TypeError, match="PassResult"):
        PassManager([lambda gm: gm.graph])(traced())


def test_sizes_without_computing():
    module = fx.symbolic_trace(torch.nn.Linear(3, 2))
    assert FakeTensorProp(module).propagate(torch.ones(4, 3)).shape == (4, 2)
    assert [tuple(n.meta["val"].shape) for n in module.graph.nodes if n.op == "call_module"] in ([], [(4, 2)])


def test_arguments_behind_the_last_one():
    graph = fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(torch.neg)
    node.update_arg(1, x)
    assert node.args == (None, x)


def test_graphs_of_operators_are_kept():
    backend = AotEagerAndRecordGraphs()
    x = torch.tensor([0.0, 1.0]).requires_grad_()
    torch.compile(lambda x: x.sin() * 2, backend=backend)(x).sum().backward()
    assert x.grad.tolist() == [2 * t for t in torch.tensor([0.0, 1.0]).cos().tolist()]
    counts = len(backend.graphs), len(backend.fw_graphs), len(backend.bw_graphs)
    assert counts == (1, 1, 1)


def test_looking_at_what_a_transform_holds():
    seen = []

    def f(x):
        seen.append(tuple(torch.func.debug_unwrap(x).shape))
        return x + 1

    torch.vmap(f)(torch.ones(2, 3))
    torch.vmap(torch.vmap(f))(torch.ones(4, 2, 3))
    assert seen == [(2, 3), (4, 2, 3)]
    compiled = torch.compile(lambda x: torch.func.debug_unwrap(x) + 1, fullgraph=True)
    assert compiled(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(TypeError):
        torch.func.debug_unwrap(3)


def test_threads_of_the_way_back():
    with torch.autograd.set_multithreading_enabled(False):
        x = torch.ones(2).requires_grad_()
        (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
