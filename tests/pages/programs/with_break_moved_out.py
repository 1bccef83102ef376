# logs: +dynamo
# shows: bytecode
import minidynamo as torch


class Quiet:
    def __enter__(self):
        self.depth = 1

    def __exit__(self, kind, value, traceback):
        self.depth = 0


@torch.compile(backend="eager")
def guarded(x):
    with Quiet():
        x = x + 1
    torch._dynamo.graph_break()
    with Quiet():
        return x * 3


print(guarded(torch.ones(2)))
