"""A constructor gets its one tensor together with a keyword, two calls below the compiled function."""

CODE = "GB0026"
EAGER_ERROR = "TypeError"
import torch


class Signal(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


class Reader:
    def read(self, x):
        return Signal(x, rate=8)


def through(reader, x):
    return reader.read(x) * 2


def run(compile):
    return compile(lambda x: through(Reader(), x))(torch.ones(2))


def fix(compile):
    class Keeping(Reader):
        def read(self, x):
            made = Signal(x)
            made.rate = 8
            return made

    return compile(lambda x: through(Keeping(), x))(torch.ones(2)).tolist()
