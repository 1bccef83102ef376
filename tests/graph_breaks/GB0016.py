"""A nested tensor of the layout strided is a part of what is passed in."""

CODE = "GB0016"
import torch


def run(compile):
    rows = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]

    @compile
    def longest(batch):
        return max(row.numel() for row in batch["rows"].unbind())

    return longest({"rows": torch.nested.nested_tensor(rows)})


def fix(compile):
    rows = [torch.tensor([1.0, 2.0]), torch.tensor([3.0])]

    @compile
    def longest(batch):
        return max(row.numel() for row in batch["rows"])

    return longest({"rows": rows})
