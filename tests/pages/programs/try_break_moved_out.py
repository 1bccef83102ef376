# logs: +dynamo
# shows: bytecode
import minidynamo as torch


@torch.compile(backend="eager")
def careful(x):
    try:
        x = x + 1
    except ValueError:
        pass
    torch._dynamo.graph_break()
    try:
        return x * 3
    except ValueError:
        return x


print(careful(torch.ones(2)))
