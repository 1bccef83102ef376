# logs: +dynamo
# shows: bytecode
import minidynamo as torch


def first(x):
    return x + 10


def second(x):
    return x * 2


@torch.compile(backend="eager")
def outer(x):
    x = first(x)

    def trouble():
        torch._dynamo.skip_frame()

    trouble()
    return second(x)


print(outer(torch.zeros(3)))
