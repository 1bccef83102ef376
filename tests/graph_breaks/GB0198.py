"""A read-only view of a dict is read after the dict was changed."""

CODE = "GB0198"
import types

import torch


def run(compile):
    table = {"a": 2}
    view = types.MappingProxyType(table)

    @compile
    def counted(x):
        table["b"] = 3
        return x + len(view)

    return counted(torch.ones(2))


def fix(compile):
    table = {"a": 2}

    @compile
    def counted(x):
        table["b"] = 3
        return x + len(table)

    return counted(torch.ones(2))
