"""A fake implementation that covers some arguments only."""

CODE = "GB0087"
import torch


@torch.library.custom_op("gbtests::halve", mutates_args=())
def halve(x: torch.Tensor) -> torch.Tensor:
    return x / 2


@halve.register_fake
def _(x):
    if x.dim() != 1:
        raise NotImplementedError("only vectors so far")
    return torch.empty_like(x)


def run(compile):
    @compile
    def f(x):
        return halve(x) + 1

    return f(torch.ones(2, 2))


def fix(compile):
    @compile
    def f(x):
        return halve(x.flatten()).reshape(2, 2) + 1

    return f(torch.ones(2, 2))
