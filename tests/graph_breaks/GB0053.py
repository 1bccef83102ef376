"""A module says that FSDP manages it with flattened parameters."""

CODE = "GB0053"
LISTED = True
import torch


class Scale(torch.nn.Module):
    def forward(self, x):
        return x * 2


def use(compile, flattened):
    module = Scale()
    module._is_fsdp_managed_module = True
    module._fsdp_use_orig_params = not flattened

    @compile
    def f(x):
        return module(x) + 1

    return f(torch.tensor([2.0, 3.0]))


def run(compile):
    return use(compile, True)


def fix(compile):
    return use(compile, False)
