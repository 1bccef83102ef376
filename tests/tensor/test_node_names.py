"""grad_fn by torch's names: a call that is several ops here is one node, with the edges of its operands.

node_names.json has what torch 2.13 answers: the names down the first operand, and those of all operands.
"""

import json
import pathlib
import threading

import numpy as np
import pytest

import minidynamo as torch
from minidynamo.nn import functional as F

CALLS = json.loads((pathlib.Path(__file__).parent / "node_names.json").read_text())


def operands():
    """What a call may mention; the floats are computed, so that each has a node."""
    draws = np.random.default_rng(0)

    def floats(*shape):
        return torch.tensor(draws.standard_normal(shape, dtype=np.float32)).requires_grad_() * 1

    names = {"x": (3, 4), "x2": (3, 4), "x3": (2, 3, 4), "w": (5, 4), "b": (5,), "im": (1, 2, 4, 4)}
    found = {name: floats(*shape) for name, shape in {**names, "k": (3, 2, 2, 2), "kb": (3,)}.items()}
    classes = {"t": torch.tensor([1, 0, 2]), "t2": torch.zeros((1, 4, 4), dtype=torch.int64)}
    return {"T": torch, "F": F, **found, **classes}


def name(node):
    return None if node is None else node.name().removeprefix("torch::autograd::")


@pytest.mark.parametrize("call", CALLS)
def test_as_torch(call):
    result = eval(call, operands())
    names, node = [], result.grad_fn
    while node is not None and len(names) < len(CALLS[call]["chain"]):
        names.append(name(node))
        node = node.next_functions[0][0] if node.next_functions else None
    assert names == CALLS[call]["chain"]
    assert [name(n) for n, _ in result.grad_fn.next_functions] == CALLS[call]["next"]
    assert f"grad_fn=<{name(result.grad_fn)}>" in repr(result)


def test_a_tutorial_s_walk():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    loss = torch.nn.MSELoss()(net(torch.ones(5, 4)), torch.zeros(5, 2))
    node = loss.grad_fn
    walked = [name(node)]
    for place in (0, 1, 0, 2, 0):
        node = node.next_functions[place][0]
        walked.append(name(node))
    wanted = ["MseLoss", "Addmm", "Relu", "Addmm", "T"]
    assert walked == [f"{n}Backward0" for n in wanted] + ["AccumulateGrad"]
    assert node.variable is net[0].weight
    loss.backward()
    assert name(loss.grad_fn) == "MseLossBackward0" and loss.grad_fn.next_functions[0][0].name() == "AddmmBackward0"


def test_one_tensor_as_several_operands_and_none():
    x = torch.ones(2, 2, requires_grad=True)
    assert [n.variable is x for n, _ in F.mse_loss(x, x).grad_fn.next_functions] == [True, True]
    edges = F.mse_loss(x, torch.zeros(2, 2)).grad_fn.next_functions
    assert edges[0][0].variable is x and edges[1] == (None, 0)
    assert (x * 2).grad_fn.next_functions[1] == (None, 0) == (2 * x).grad_fn.next_functions[1]


def test_parts_of_calls_inside_of_a_call():
    """What is one call for the program is one node, whatever it calls: here mean() inside of a loss."""
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    for loss in (F.mse_loss(y, torch.zeros(3)), F.huber_loss(y, torch.zeros(3)), y.var(), y.std()):
        (node, _), *_ = loss.grad_fn.next_functions
        assert node is y.grad_fn


def test_a_call_on_what_other_threads_compute():
    """Parts of a call are known by when they were made, in whatever thread."""
    found = []

    def work():
        x = torch.ones(3, requires_grad=True)
        for _ in range(50):
            x = x * 1.0
        found.append(x)

    def use():
        y = found[0]
        found.append(F.mse_loss(y, torch.zeros(3)).grad_fn.next_functions[0][0] is y.grad_fn)

    for step in (work, use):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
    assert found[1] is True


def test_writes_in_place():
    x = torch.ones(3, requires_grad=True) * 1
    before = x.grad_fn
    x.addcmul_(x.detach(), torch.ones(3))
    assert name(x.grad_fn) == "AddcmulBackward0" and x.grad_fn.next_functions[0][0] is before
    y = torch.zeros(3)
    assert name(y.copy_(x).grad_fn) == "CopyBackwards"
