"""An operator of the program declares a result whose size depends on contents."""

CODE = "GB0036"
import torch

torch.library.define("gbtests::compress", "(Tensor x) -> Tensor", tags=(torch.Tag.dynamic_output_shape,))


@torch.library.impl("gbtests::compress", "CPU")
def compress(x):
    return torch.tensor([v for v in x.tolist() if v > 1])


def run(compile):
    @compile
    def f(x):
        return torch.ops.gbtests.compress(x + 1).sum() * 2

    return f(torch.tensor([-1.0, 2.0, 3.0]))


def fix(compile):
    @compile
    def f(x):
        y = x + 1
        return torch.where(y > 1, y, 0.0).sum() * 2

    return f(torch.tensor([-1.0, 2.0, 3.0]))
