"""A deque of two that existed before gets a third element."""

CODE = "GB0097"
from collections import deque

import torch


def run(compile):
    latest = deque([1, 2], maxlen=2)

    @compile
    def f(x):
        latest.append(3)
        return x * len(latest)

    return f(torch.ones(2)), list(latest)


def fix(compile):
    latest = deque([1, 2])

    @compile
    def f(x):
        latest.append(3)
        return x * len(latest) + latest.popleft()

    return f(torch.ones(2)), list(latest)
