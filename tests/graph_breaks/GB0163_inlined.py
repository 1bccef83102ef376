"""The base of a view is asked for in a property of the class, which leaves calls to Tensor."""

CODE = "GB0163"
import torch


class Window(torch.Tensor):
    @property
    def is_whole(self):
        return self._base is None


def scaled(x):
    return x * 2 if x.is_whole else x * 3


def run(compile):
    return compile(lambda x: scaled(x))(torch.ones(2).as_subclass(Window)).tolist()
