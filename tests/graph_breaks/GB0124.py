"""Reading a tensor's value as a Python number while it is being traced."""

CODE = "GB0124"
import torch


def run(compile):
    @compile
    def scale_by_peak(x):
        peak = x.max().item()
        return x / peak

    return scale_by_peak(torch.tensor([1.0, 2.0, 4.0]))


def fix(compile):
    @compile
    def scale_by_peak(x):
        return x / x.max()

    return scale_by_peak(torch.tensor([1.0, 2.0, 4.0]))
