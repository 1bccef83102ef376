"""Two unit classes both decline to add."""

CODE = "GB0000"
EAGER_ERROR = "TypeError"
import torch

CALLS = []


class Declining:
    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        CALLS.append(len(types))
        return NotImplemented


class AlsoDeclining(Declining):
    pass


class Metres:
    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        values = [a.value if isinstance(a, Metres) else a for a in args]
        return func(*values, **(kwargs or {}))


def run(compile):
    length = Declining(torch.ones(2))
    return compile(lambda x: torch.mul(x, length))(torch.ones(2))


def fix(compile):
    length, factor = Metres(torch.ones(2) * 3), Metres(2.0)
    return compile(lambda x: torch.add(torch.mul(x, length), length, alpha=2) + torch.maximum(length, x))(torch.ones(2))
