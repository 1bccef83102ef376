"""A parent class keeps an object with __call__ where its child expects a method."""

CODE = "GB0006"
LISTED = True
import torch


class Doubler:
    def __call__(self, v):
        return v * 2


class Base:
    apply = Doubler()


class Child(Base):
    def step(self, v):
        return super().apply(v) + 1


class Method(Base):
    def apply(self, v):
        return v * 2


class Grandchild(Method):
    def step(self, v):
        return super().apply(v) + 1


def run(compile):
    return compile(Child().step)(torch.tensor([2.0, 3.0]))


def fix(compile):
    return compile(Grandchild().step)(torch.tensor([2.0, 3.0]))
