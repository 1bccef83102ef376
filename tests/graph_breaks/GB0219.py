"""A backend says that it cannot take the graph."""

CODE = "GB0219"
import torch

UnsupportedOperatorException = torch._subclasses.fake_tensor.UnsupportedOperatorException


def choosy(graph, inputs):
    raise UnsupportedOperatorException("cos")


def run(compile):
    return compile(lambda x: x.cos() + 1, backend=choosy)(torch.ones(2))


def fix(compile):
    return compile(lambda x: x.cos() + 1)(torch.ones(2))
