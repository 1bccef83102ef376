# logs: graph_code
import os
import tempfile

import minidynamo as torch

FILE = os.path.join(tempfile.mkdtemp(), "half.pt")


@torch.compile(backend="eager", fullgraph=True)
def before(x):
    return x * x / 2


@torch.compile(backend="eager", fullgraph=True)
def after(y):
    return y**3 / 6


def keep_half(x):
    y = before(x)
    torch.save(y, FILE)
    return after(y)


print(keep_half(torch.ones(3)), torch.load(FILE))
