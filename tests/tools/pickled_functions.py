"""What tests/tools/test_pickling.py pickles: by name from a module, and by value when it is run as a script."""

import functools
import sys

import minidynamo as torch

compiled = torch.compile(backend="eager")


def interpreted(gm, example_inputs):
    return gm.forward


def plain(x):
    return x + 2


def factor():
    return 3


@compiled
def decorated(x):
    return x * factor() + 1


other = torch.compile(plain, fullgraph=True, dynamic=True, backend=interpreted)
anonymous = compiled(lambda x: x * 4)


@compiled
def recursive(x, n):
    return x if n == 0 else recursive(x + 1, n - 1)


def nested():
    k = 5

    @torch.compile(fullgraph=True)
    def inner(x):
        return x * k

    return inner


class Holder:
    def __init__(self):
        self.f = other
        self.k = 6

    @compiled
    def method(self, x):
        return x * self.k

    def plain_method(self, x):
        return x + self.k

    @staticmethod
    @compiled
    def static(x):
        return x * 7

    @classmethod
    @compiled
    def of_class(cls, x):
        return x * 8


partial = compiled(functools.partial(plain))
builtin = compiled(torch.sin)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, x):
        return self.layer(x)


def applied(f, *args):
    return f(*args).tolist()


def is_the_one_of_its_module(f):
    return getattr(sys.modules[f.__module__], f.__name__) is f


if __name__ == "__main__":
    import cloudpickle

    things = [
        decorated,
        other,
        anonymous,
        nested(),
        Holder(),
        partial,
        recursive,
        torch.compile(Net(), backend="eager"),
    ]
    sys.stdout.buffer.write(cloudpickle.dumps(things))
