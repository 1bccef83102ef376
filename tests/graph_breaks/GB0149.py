"""A compiled function is called inside vmap, which is not part of the graph."""

CODE = "GB0149"
WHOLE = True
import torch


def run(compile):
    return torch.vmap(compile(lambda x: x * 2, backend="inductor"))(torch.ones(2, 3))


def fix(compile):
    return compile(lambda x: torch.vmap(lambda row: row * 2)(x))(torch.ones(2, 3))
