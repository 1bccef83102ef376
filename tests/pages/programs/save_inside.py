# logs:
import os
import tempfile

import minidynamo as torch

FILE = os.path.join(tempfile.mkdtemp(), "half.pt")


@torch.compile(backend="eager", fullgraph=True)
def keep_half(x):
    y = x * x / 2
    torch.save(y, FILE)
    return y**3 / 6


try:
    keep_half(torch.ones(3))
except torch._dynamo.exc.Unsupported as e:
    print(e)
print(os.path.exists(FILE))
