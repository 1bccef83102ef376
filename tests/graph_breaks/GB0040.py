"""A branch of cond returns a view of a captured tensor."""

CODE = "GB0040"
EAGER_ERROR = "UncapturedHigherOrderOpError"
import torch

table = torch.arange(6.0).reshape(2, 3)


def run(compile):
    @compile
    def f(x):
        return torch.cond(x.max() > 2, lambda t: t * 2, lambda t: table[0], (x,))

    return f(torch.ones(3))


def fix(compile):
    @compile
    def f(x):
        return torch.cond(x.max() > 2, lambda t: t * 2, lambda t: table[0].clone(), (x,))

    return f(torch.ones(3))
