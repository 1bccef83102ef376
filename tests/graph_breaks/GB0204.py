"""A read-only view of a dict whose keys are objects is an argument."""

CODE = "GB0204"
import types

import torch


def run(compile):
    class Name:
        pass

    @compile
    def counted(x, view):
        return x + len(list(view))

    return counted(torch.ones(2), types.MappingProxyType({Name(): 1, Name(): 2}))


def fix(compile):
    @compile
    def counted(x, view):
        return x + len(list(view))

    return counted(torch.ones(2), types.MappingProxyType({"a": 1, "b": 2}))
