"""A hook for the gradient of an intermediate result, its handle returned."""

CODE = "GB0029"
import torch


def run(compile):
    @compile
    def loss(w):
        y = w * 3
        return y.sum(), y.register_hook(lambda grad: grad * 2)

    w = torch.ones(2, requires_grad=True)
    total, handle = loss(w)
    total.backward()
    return w.grad


def fix(compile):
    @compile
    def forward(w):
        return w * 3

    w = torch.ones(2, requires_grad=True)
    y = forward(w)
    y.register_hook(lambda grad: grad * 2)
    y.sum().backward()
    return w.grad
