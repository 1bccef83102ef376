"""The time between two events is read inside."""

CODE = "GB0146"
EAGER_ERROR = "ValueError"
import time

import torch


def run(compile):
    start, end = torch.Event(), torch.Event()

    @compile
    def timed(x):
        return x + start.elapsed_time(end)

    return timed(torch.ones(2))


def fix(compile):
    started = time.perf_counter()

    @compile
    def shifted(x):
        return x + 1

    y = shifted(torch.ones(2))
    return y, time.perf_counter() >= started
