"""A group of an optimizer lost the key that its step needs."""

CODE = "GB0196"
EAGER_ERROR = "KeyError"
import torch


def run(compile):
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=0.5)
    w.grad = torch.ones(2)
    del optimizer.param_groups[0]["params"]
    compile(optimizer.step)()
    return w.detach()


def fix(compile):
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=0.5)
    w.grad = torch.ones(2)
    compile(optimizer.step)()
    return w.detach()
