"""A function with a type parameter is defined in the compiled function."""

CODE = "GB0079"
MIN_PYTHON = (3, 12)
import torch


def run(compile):
    scope = {"torch": torch}
    text = "def same(x):\n    def keep[T](value: T) -> T:\n        return value\n    return keep(x) + 1"
    exec(text, scope)
    return compile(scope["same"])(torch.ones(2))


def fix(compile):
    scope = {"torch": torch}
    exec("def keep[T](value: T) -> T:\n    return value\ndef same(x):\n    return keep(x) + 1", scope)
    return compile(scope["same"])(torch.ones(2))
