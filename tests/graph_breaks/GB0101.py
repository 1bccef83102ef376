"""A function of another module stores the handle of a tensor's hook in a global variable."""

CODE = "GB0101"
import types

import torch

TEXT = "def watch(w):\n    global handle\n    handle = w.register_hook(lambda grad: grad * 2)"


def run(compile):
    hooks = types.ModuleType("hooks")
    exec(TEXT, hooks.__dict__)

    @compile
    def loss(w):
        hooks.watch(w)
        return (w * 3).sum()

    w = torch.ones(2, requires_grad=True)
    loss(w).backward()
    return w.grad


def fix(compile):
    hooks = types.ModuleType("hooks")
    exec(TEXT, hooks.__dict__)

    @compile
    def loss(w):
        return (w * 3).sum()

    w = torch.ones(2, requires_grad=True)
    hooks.watch(w)
    loss(w).backward()
    return w.grad
