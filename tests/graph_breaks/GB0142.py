"""Entering a lock as a context manager."""

CODE = "GB0142"
import threading

import torch

lock = threading.Lock()


def run(compile):
    @compile
    def guarded(x):
        with lock:
            y = x + 1
        return y * 2

    return guarded(torch.ones(2))


def fix(compile):
    @compile
    def unguarded(x):
        y = x + 1
        return y * 2

    return unguarded(torch.ones(2))
