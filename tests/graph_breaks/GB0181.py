"""A weight of one dtype has a gradient of another one."""

CODE = "GB0181"
import torch


def run(compile):
    w = torch.ones(2, dtype=torch.float64, requires_grad=True)
    w.grad = torch.ones(2, dtype=torch.float64)
    w.data = torch.ones(2, dtype=torch.float32)

    @compile
    def step(w):
        return w.detach() - w.grad

    return step(w)


def fix(compile):
    w = torch.ones(2, requires_grad=True)
    w.grad = torch.ones(2)

    @compile
    def step(w):
        return w.detach() - w.grad

    return step(w)
