"""A number without a value is passed in."""

CODE = "GB0018"
import torch


def run(compile):
    count = torch.fx.experimental.symbolic_shapes.ShapeEnv().create_unbacked_symint()

    @compile
    def f(x, counts):
        return x + len([isinstance(n, str) for n in counts])

    return f(torch.ones(2), [count])


def fix(compile):
    return compile(lambda x, counts: x + len(counts))(torch.ones(2), [3])
