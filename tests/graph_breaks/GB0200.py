"""A set display while the switch that takes its handler away is on."""

CODE = "GB0200"
import torch


def use(compile, count):
    with torch._dynamo.config.patch(inject_BUILD_SET_unimplemented_TESTING_ONLY=True):
        return compile(count)(torch.tensor([2.0, 3.0]), "a", "b")


def displayed(x, a, b):
    return x + len({a, b, "a"})


def called(x, a, b):
    return x + len(set((a, b, "a")))


def run(compile):
    return use(compile, displayed)


def fix(compile):
    return use(compile, called)
