"""An argument of a function kept whole that exists outside of the graph only."""

CODE = "GB0055"
import torch


class Scale:
    by = 2.0


@torch.compiler.allow_in_graph
def scaled(x, scale):
    return x * scale.by


@torch.compiler.allow_in_graph
def scaled_by(x, by):
    return x * by


def run(compile):
    scale = Scale()

    @compile
    def f(x):
        return scaled(x - 1, scale)

    return f(torch.ones(2))


def fix(compile):
    scale = Scale()

    @compile
    def f(x):
        return scaled_by(x - 1, scale.by)

    return f(torch.ones(2))
