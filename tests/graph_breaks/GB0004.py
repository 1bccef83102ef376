"""A module that sees every attribute read deletes an attribute through super()."""

CODE = "GB0004"
import torch


def run(compile):
    class Watched(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = 3

        def __getattribute__(self, name):
            return super().__getattribute__(name)

        def forward(self, x):
            super().__delattr__("cache")
            return x + 1

    watched = Watched()
    return compile(watched)(torch.ones(2)), hasattr(watched, "cache")


def fix(compile):
    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = 3

        def forward(self, x):
            super().__delattr__("cache")
            return x + 1

    plain = Plain()
    return compile(plain)(torch.ones(2)), hasattr(plain, "cache")
