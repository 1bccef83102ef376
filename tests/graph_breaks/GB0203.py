"""A view of keys that are objects is an argument."""

CODE = "GB0203"
import torch


def run(compile):
    class Name:
        pass

    @compile
    def counted(x, keys):
        return x + len(list(keys))

    return counted(torch.ones(2), {Name(): 1, Name(): 2}.keys())


def fix(compile):
    @compile
    def counted(x, keys):
        return x + len(list(keys))

    return counted(torch.ones(2), {"a": 1, "b": 2}.keys())
