"""Two classes below Tensor, of which neither is below the other, both leave an operator to Tensor."""

CODE = "GB0000"
EAGER_ERROR = "TypeError"
import torch


class Metres(torch.Tensor):
    pass


class Seconds(torch.Tensor):
    pass


class Length(Metres):
    pass


def run(compile):
    return compile(lambda x, y: (x + y).sum())(torch.ones(2).as_subclass(Metres), torch.ones(2).as_subclass(Seconds))


def fix(compile):
    total = compile(lambda x, y: (x + y).sum())(torch.ones(2).as_subclass(Metres), torch.ones(2).as_subclass(Length))
    return type(total).__name__, total.item()
