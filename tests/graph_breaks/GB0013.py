"""The handle of a hook registered before the call is looked at inside."""

CODE = "GB0013"
import torch


def run(compile):
    weight = torch.ones(3, requires_grad=True)
    handle = weight.register_hook(lambda grad: grad * 2)

    @compile
    def scaled(x):
        return x * (2 if handle.id >= 0 else 1)

    return scaled(torch.ones(3))


def fix(compile):
    weight = torch.ones(3, requires_grad=True)
    handle = weight.register_hook(lambda grad: grad * 2)
    factor = 2 if handle.id >= 0 else 1

    @compile
    def scaled(x):
        return x * factor

    return scaled(torch.ones(3))
