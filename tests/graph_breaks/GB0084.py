"""super().__delattr__ gets a name that is no constant."""

CODE = "GB0084"
EAGER_ERROR = "TypeError"
import torch


def run(compile):
    class Box:
        def forget(self, name):
            super().__delattr__(name)

    box = Box()

    @compile
    def use(x):
        y = x + 1
        box.forget(y)
        return y

    return use(torch.ones(2))


def fix(compile):
    class Box:
        def forget(self, name):
            super().__delattr__(name)

    box = Box()
    box.cache = 3

    @compile
    def use(x):
        y = x + 1
        box.forget("cache")
        return y

    return use(torch.ones(2))
