"""A profiler made inside is handed to the caller."""

CODE = "GB0212"
import torch


def run(compile):
    @compile
    def profiled(x):
        profiler = torch.profiler.profile()
        return x + 1, profiler

    return profiled(torch.ones(2))[0]


def fix(compile):
    profiler = torch.profiler.profile()

    @compile
    def step(x):
        return x + 1

    with profiler:
        return step(torch.ones(2))
