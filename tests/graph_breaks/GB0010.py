"""A resource object is closed twice, so an attribute already deleted while tracing is deleted again."""

CODE = "GB0010"
EAGER_ERROR = "AttributeError"
import torch


class Buffer:
    def __init__(self):
        self.data = torch.ones(2)

    def close(self):
        del self.data


def run(compile):
    @compile
    def consume(buf, x):
        y = x + buf.data
        buf.close()
        buf.close()
        return y

    return consume(Buffer(), torch.zeros(2))


def fix(compile):
    @compile
    def consume(buf, x):
        y = x + buf.data
        buf.close()
        return y

    return consume(Buffer(), torch.zeros(2))
