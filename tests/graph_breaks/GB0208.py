"""Asks torch.result_type for a dtype while tracing."""

CODE = "GB0208"
LISTED = True
import torch


def run(compile):
    @compile
    def add_promoted(x, y):
        dtype = torch.result_type(x, y)
        return (x + y).to(dtype)

    return add_promoted(torch.tensor([1, 2]), torch.tensor([0.5, 0.5]))


def fix(compile):
    @compile
    def add_promoted(x, y):
        return x + y

    return add_promoted(torch.tensor([1, 2]), torch.tensor([0.5, 0.5]))
