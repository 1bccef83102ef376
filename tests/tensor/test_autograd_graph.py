"""Backward passes as programs steer them: chosen inputs, edges, hooks on several gradients, callbacks, legacy names."""

import gc
import weakref

import pytest

import minidynamo as torch
from minidynamo.autograd import Variable, grad
from minidynamo.autograd.graph import GradientEdge, Node, get_gradient_edge, register_multi_grad_hook


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_inputs_of_all_kinds():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    assert grad(y, {"a": x}, retain_graph=True)["a"].tolist() == [2.0, 4.0]
    assert [g.tolist() for g in grad(y, [x, x], retain_graph=True)] == [[2.0, 4.0]] * 2
    assert grad([y, y], (t for t in [x]), retain_graph=True)[0].tolist() == [4.0, 8.0]
    assert grad(y, y)[0].tolist() == 1.0
    for wrong, error in [([], RuntimeError), ([None], RuntimeError), ("x", RuntimeError)]:
        with pytest.raises(error):
            grad(y, wrong)
    with pytest.raises(AssertionError):
        grad("y", x)
    with pytest.raises(TypeError, match="float"):
        grad(y, x, [1.0])
    with pytest.raises(ValueError, match="materialize_grads"):
        grad(y, x, allow_unused=False, materialize_grads=True)
    with pytest.warns(FutureWarning, match="only_inputs"):
        grad(y, x, only_inputs=False)


def test_batches_of_gradients():
    x, unused = leaf(1.0, 2.0), leaf(1.0)
    (rows,) = grad(x * x, x, torch.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    y = x * x
    found = grad([y, y.sum()], [x, unused], [torch.eye(2), torch.ones(2)], is_grads_batched=True, allow_unused=True)
    assert found[0].tolist() == [[4.0, 4.0], [2.0, 8.0]] and found[1] is None
    with pytest.raises(RuntimeError, match="batch"):
        grad(x * x, x, torch.ones(3, 3), is_grads_batched=True)


def test_old_argument_of_backward():
    x = leaf(1.0, 2.0)
    with pytest.warns(FutureWarning, match="grad_tensors"):
        torch.autograd.backward([x * 2], grad_variables=[torch.ones(2)])
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="both"):
        torch.autograd.backward([x * 2], [torch.ones(2)], grad_variables=[torch.ones(2)])
    with pytest.warns(UserWarning, match="cycle"):
        (x * 2).sum().backward(create_graph=True)
    x.grad = None
    torch.autograd.backward([])


def test_edges():
    x = leaf(1.0, 2.0)
    y = x * 2
    edge = get_gradient_edge(y)
    assert isinstance(edge.node, Node) and edge.node == y.grad_fn and edge.output_nr == 0 and len(edge) == 3
    assert grad((y * y).sum(), edge)[0].tolist() == [4.0, 8.0]
    assert grad(edge, x, torch.ones(2))[0].tolist() == [2.0, 2.0]
    assert get_gradient_edge(x).node.name() == "AccumulateGrad" and get_gradient_edge(edge) is edge
    with pytest.raises(RuntimeError, match="requires grad"):
        get_gradient_edge(torch.ones(1))
    with pytest.raises(NotImplementedError, match="get_gradient_edge"):
        grad(x.sum(), GradientEdge(y.grad_fn, 0))


def test_a_hook_for_all_gradients_waits_for_those_that_come():
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    seen = []
    handle = register_multi_grad_hook([a, b, c], lambda gs: seen.append([None if g is None else g.item() for g in gs]))
    (a * b).backward()
    (a * b * c).backward()
    assert seen == [[2.0, 1.0, None], [6.0, 3.0, 2.0]]
    handle.remove()
    (a * b).backward()
    assert len(seen) == 2
    y = a * b
    with register_multi_grad_hook([a, b], lambda gs: seen.append(gs)):
        y.backward(retain_graph=True)
        y.backward()
    assert len(seen) == 4


def test_a_hook_for_results_in_between():
    a, b = leaf(1.0), leaf(2.0)
    middle = a * b
    later = middle.exp()
    seen = []
    register_multi_grad_hook([middle, later, a], lambda gs: seen.append([g.item() for g in gs]))
    (later * middle).backward()
    assert seen == [pytest.approx([22.16717, 2.0, 44.33434], rel=1e-5)]
    gone = weakref.ref(middle)
    del middle, later
    gc.collect()
    assert gone() is None


def test_a_hook_for_any_gradient():
    a, b, seen = leaf(1.0), leaf(2.0), []
    with register_multi_grad_hook([a, b], seen.append, mode="any"):
        (a * b).backward()
        (a * b).backward()
    (a * b).backward()
    assert len(seen) == 2
    with pytest.raises(ValueError, match="mode"):
        register_multi_grad_hook([a], seen.append, mode="some")
    with pytest.raises(RuntimeError, match="require grad"):
        register_multi_grad_hook([torch.ones(1)], seen.append)


def test_callbacks_at_the_end_of_a_pass():
    engine, seen, x = Variable._execution_engine, [], leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(lambda: seen.append("end")))
    x.register_hook(lambda g: seen.append("leaf"))
    y.backward()
    assert seen == ["leaf", "end"]
    with pytest.raises(RuntimeError, match="backward pass"):
        engine.queue_callback(lambda: None)


def test_counting_a_write_nobody_saw():
    x = leaf(1.0, 2.0)
    h = x * 1
    y = (h * h).sum()
    before = h._version
    torch.autograd.graph.increment_version([h])
    assert h._version == before + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_variables():
    x = torch.ones(2)
    v = Variable(x, requires_grad=True)
    assert v.requires_grad and v.data_ptr() == x.data_ptr() and not x.requires_grad
    assert isinstance(x, Variable) and not isinstance(3, Variable) and Variable().shape == (0,)
    with pytest.warns(UserWarning, match="volatile"):
        Variable(x, volatile=True)
    with pytest.raises(TypeError, match="list"):
        Variable([1.0])
