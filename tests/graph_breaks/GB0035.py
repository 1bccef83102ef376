"""An object whose __bool__ hands back a tensor comparison is used as an if condition."""

CODE = "GB0035"
EAGER_ERROR = "TypeError"
import torch


class Signal:
    def __init__(self, level):
        self.level = level

    def __bool__(self):
        return self.level.sum() > 0


def run(compile):
    @compile
    def gate(x, signal):
        if signal:
            return x + 1
        return x - 1

    return gate(torch.ones(2), Signal(torch.ones(2)))


def fix(compile):
    @compile
    def gate(x, signal):
        return torch.where(signal.level.sum() > 0, x + 1, x - 1)

    return gate(torch.ones(2), Signal(torch.ones(2)))
