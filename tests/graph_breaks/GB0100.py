"""The handle of a tensor's hook is stored in a global variable."""

CODE = "GB0100"
import torch

kept = None


def run(compile):
    @compile
    def loss(w):
        global kept
        kept = w.register_hook(lambda grad: grad * 2)
        return (w * 3).sum()

    w = torch.ones(2, requires_grad=True)
    loss(w).backward()
    return w.grad


def fix(compile):
    global kept

    @compile
    def forward(w):
        return (w * 3).sum()

    w = torch.ones(2, requires_grad=True)
    kept = w.register_hook(lambda grad: grad * 2)
    forward(w).backward()
    return w.grad
