"""An object whose class hides how it is written becomes text."""

CODE = "GB0184"
import torch


class Hidden:
    def __getattribute__(self, name):
        if name == "__repr__":
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    def __repr__(self):
        return "something"


def run(compile):
    hidden = Hidden()
    return compile(lambda x: (x + 1, str(hidden)))(torch.ones(2))


def fix(compile):
    text = str(Hidden())
    return compile(lambda x: (x + 1, text))(torch.ones(2))
