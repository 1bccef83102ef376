# logs: +dynamo
# shows: bytecode
import minidynamo as torch


@torch.compile(backend="eager")
def climb(x):
    def one(step):
        nonlocal x
        x = x * 2
        if step == 2:
            torch._dynamo.graph_break()

    one(0)
    one(1)
    one(2)
    return x


print(climb(torch.ones(2)))
