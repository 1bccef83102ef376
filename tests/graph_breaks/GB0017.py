"""The operator behind nested_compile_region is compared by name."""

CODE = "GB0017"
import torch

from minidynamo._higher_order_ops import invoke_subgraph


def run(compile):
    @compile
    def f(x):
        return x + 1 if invoke_subgraph is not None else x

    return f(torch.ones(2))


def fix(compile):
    @torch.compiler.nested_compile_region
    def region(x):
        return x + 1

    @compile
    def f(x):
        return region(x) * region(x - 1)

    return f(torch.ones(2))
