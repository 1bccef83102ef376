# logs: +dynamo
# shows: bytecode
import contextlib

import minidynamo as torch


@torch.compile(backend="eager")
def guarded(x):
    with contextlib.nullcontext(), torch.no_grad():
        x = x + 1
        torch._dynamo.graph_break()
        return x * 3


print(guarded(torch.ones(2)), torch.is_grad_enabled())
