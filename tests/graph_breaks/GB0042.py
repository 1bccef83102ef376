"""nested_compile_region around an instance with __call__."""

CODE = "GB0042"
PARTIAL_ERROR = "UncapturedHigherOrderOpError"
import torch


class Times:
    def __call__(self, x):
        return x * 3


times = torch.compiler.nested_compile_region(Times())


@torch.compiler.nested_compile_region
def times_three(x):
    return x * 3


def run(compile):
    @compile
    def f(x):
        return times(x).sum()

    return f(torch.ones(3))


def fix(compile):
    @compile
    def f(x):
        return times_three(x).sum()

    return f(torch.ones(3))
