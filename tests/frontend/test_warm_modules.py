"""Module trees that were called often enough for their guards to be memoized: every kind of change is noticed."""

import copy
import threading

import pytest

import minidynamo as torch
from minidynamo import nn
from minidynamo._dynamo.testing import CompileCounter


class Block(nn.Module):
    scale = 1.0

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.act = nn.ReLU()
        self.gain = 2.0

    def forward(self, x):
        x = self.act(self.norm(self.linear(x)) * self.scale + self.gain)
        return x + 1 if self.training else x


class Tree(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.register_buffer("offset", torch.ones(4))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x + self.offset


def made():
    torch.manual_seed(3)
    return Tree().eval()


X = torch.arange(8.0).reshape(2, 4)
CALLS = 6  # guards are memoized after a few


def set_in_dict(tree):
    tree.blocks[1].__dict__["gain"] = 5.0


def hook(tree):
    tree.blocks[2].act.register_forward_hook(lambda module, args, result: result * 2)


def pre_hook(tree):
    tree.blocks[0].register_forward_pre_hook(lambda module, args: (args[0] + 1,))


class Doubling(nn.ReLU):
    def forward(self, x):
        return super().forward(x) * 2


def own_forward(tree):
    tree.blocks[0].act.forward = lambda x: x * 3


def new_dict(tree):
    block = tree.blocks[1]
    block.__dict__ = {**block.__dict__, "gain": 7.0}


CHANGES = {
    "attribute": lambda t: setattr(t.blocks[1], "gain", 3.0),
    "attribute deleted": lambda t: (setattr(Block, "gain", 4.0), delattr(t.blocks[1], "gain")),
    "in __dict__": set_in_dict,
    "another __dict__": new_dict,
    "class attribute": lambda t: setattr(Block, "scale", 0.5),
    "class attribute hidden": lambda t: setattr(t.blocks[2], "scale", 0.5),
    "training of all": lambda t: t.train(),
    "training of one": lambda t: setattr(t.blocks[2], "training", True),
    "module replaced": lambda t: setattr(t.blocks[1], "act", nn.Sigmoid()),
    "in the table of modules": lambda t: t.blocks[1]._modules.__setitem__("act", nn.Tanh()),
    "list item": lambda t: t.blocks.__setitem__(0, nn.Identity()),
    "list longer": lambda t: t.blocks.append(nn.Tanh()),
    "list shorter": lambda t: t.blocks.__delitem__(1),
    "parameter replaced": lambda t: setattr(t.blocks[0].linear, "weight", nn.Parameter(torch.ones(4, 4))),
    "parameter gone": lambda t: setattr(t.blocks[0].linear, "bias", None),
    "parameter's data": lambda t: setattr(t.blocks[0].linear.weight, "data", torch.ones(4, 4)),
    "parameter in place": lambda t: t.blocks[0].linear.weight.data.fill_(2.0),
    "dtype": lambda t: t.to(torch.float64),
    "buffer replaced": lambda t: setattr(t, "offset", torch.zeros(4)),
    "buffer of another size": lambda t: setattr(t, "offset", torch.zeros(2, 4)),
    "hook": hook,
    "pre-hook": pre_hook,
    "class": lambda t: setattr(t.blocks[0].act, "__class__", Doubling),
    "forward of one": own_forward,
    "forward of the class": lambda t: setattr(Block, "forward", lambda self, x: x * 10),
    "state": lambda t: t.load_state_dict({k: v * 0 + 1 for k, v in t.state_dict().items()}),
}


@pytest.fixture(autouse=True)
def block_as_it_was():
    before = dict(vars(Block))
    yield
    for name in set(vars(Block)) - set(before):
        delattr(Block, name)
    Block.scale, Block.forward = before["scale"], before["forward"]


@pytest.mark.parametrize("name", CHANGES)
def test_change(name):
    torch._dynamo.reset()
    tree = made()
    compiled = torch.compile(tree, backend="eager")
    x = X.double() if name == "dtype" else X
    for _ in range(CALLS):
        before = compiled(X)
    CHANGES[name](tree)
    for _ in range(CALLS):
        assert torch.equal(compiled(x), tree(x))
    assert name == "dtype" or not torch.equal(before, tree(x)), "the change does not show, so nothing is tested"


def test_nothing_is_compiled_again():
    torch._dynamo.reset()
    tree, counter = made(), CompileCounter()
    compiled = torch.compile(tree, backend=counter)
    for _ in range(3 * CALLS):
        compiled(X)
        tree.note = object()  # looked at by nobody
        tree.blocks[0].note = object()
    assert counter.frame_count == 1
    tree.blocks[0].gain = 9.0
    compiled(X)
    assert counter.frame_count == 2


def test_back_and_forth():
    torch._dynamo.reset()
    tree, counter = made(), CompileCounter()
    compiled = torch.compile(tree, backend=counter)
    for i in range(100):
        tree.blocks[1].train(i % 7 == 3)
        if i % 5 == 0:
            tree.blocks[2].act = nn.Tanh() if i % 2 else nn.ReLU()
        assert torch.equal(compiled(X), copy.deepcopy(tree)(X))
    assert counter.frame_count <= 8


def test_copies_are_other_modules():
    torch._dynamo.reset()
    first = made()

    @torch.compile(backend="eager")
    def f(tree, x):
        return tree(x)

    for _ in range(CALLS):
        f(first, X)
    second = copy.deepcopy(first)
    second.blocks[1].gain = 11.0
    for _ in range(CALLS):
        assert torch.equal(f(second, X), second(X))
        assert torch.equal(f(first, X), first(X))


def test_threads():
    torch._dynamo.reset()
    tree = made()
    compiled = torch.compile(tree, backend="eager")
    results, wrong = {}, []
    for gain in (1.0, 2.0):
        for block in tree.blocks:
            block.gain = gain
        results[gain] = tree(X)
        for _ in range(CALLS):
            compiled(X)

    def call():
        for _ in range(300):
            found = compiled(X)
            if not any(torch.equal(found, r) for r in results.values()):
                wrong.append(found)

    tree.blocks = nn.ModuleList([tree.blocks[0]] * 3)  # one attribute decides for all
    for gain in results:
        tree.blocks[0].gain = gain
        results[gain] = tree(X)
    threads = [threading.Thread(target=call) for _ in range(4)]
    for t in threads:
        t.start()
    for i in range(200):
        tree.blocks[0].gain = 1.0 + i % 2
    for t in threads:
        t.join()
    assert not wrong
