# logs: +dynamo
# shows: bytecode
import minidynamo as torch


@torch.compile(backend="eager")
def climb(x):
    for step in range(4):
        x = x * 2
        if step == 2:
            torch._dynamo.graph_break()
    return x


print(climb(torch.ones(2)))
