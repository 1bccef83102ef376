"""An operator without the compliance tag, where only such with it are allowed."""

CODE = "GB0043"
import torch

torch.library.define("gbtests::negate", "(Tensor x) -> Tensor")
torch.library.define("gbtests::negate_well", "(Tensor x) -> Tensor", tags=torch.Tag.pt2_compliant_tag)
torch.library.impl("gbtests::negate", "CompositeExplicitAutograd", lambda x: -x)
torch.library.impl("gbtests::negate_well", "CompositeExplicitAutograd", lambda x: -x)


def run(compile):
    @compile
    def f(x):
        return torch.ops.gbtests.negate(x * 2)

    with torch._dynamo.config.patch(only_allow_pt2_compliant_ops=True):
        return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        return torch.ops.gbtests.negate_well(x * 2)

    with torch._dynamo.config.patch(only_allow_pt2_compliant_ops=True):
        return f(torch.ones(2))
