"""The same with such sizes captured, but no rule that names the size."""

CODE = "GB0037"
import torch

torch.library.define("gbtests::squeeze_out", "(Tensor x) -> Tensor", tags=torch.Tag.dynamic_output_shape)


@torch.library.impl("gbtests::squeeze_out", "cpu")
def squeeze_out(x):
    return torch.tensor([v for v in x.tolist() if v != 0])


def run(compile):
    @compile
    def f(x):
        return torch.ops.gbtests.squeeze_out(x * 3).max()

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        return f(torch.tensor([0.0, 2.0, 3.0]))


def fix(compile):
    @compile
    def f(x):
        return torch.where(x > 0, x * 3, 0).max()

    return f(torch.tensor([0.0, 2.0, 3.0]))
