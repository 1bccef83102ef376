"""A custom operator nobody has described to the compiler."""

CODE = "GB0090"
import torch


@torch.library.custom_op("gbtests::rotate", mutates_args=())
def rotate(x: torch.Tensor, by: int) -> torch.Tensor:
    return torch.roll(x, by)


@torch.library.custom_op("gbtests::rotate_described", mutates_args=())
def rotate_described(x: torch.Tensor, by: int) -> torch.Tensor:
    return torch.roll(x, by)


rotate_described.register_fake(lambda x, by: torch.empty_like(x))


def run(compile):
    @compile
    def f(x):
        return rotate(x, 2) * x

    return f(torch.arange(4.0))


def fix(compile):
    @compile
    def f(x):
        return rotate_described(x, 2) * x

    return f(torch.arange(4.0))
