# logs: graph_breaks,graph_code
import minidynamo as torch


def low(x):
    torch._dynamo.graph_break()
    return x + 1


def middle(x):
    y = low(x * 2)
    return y * 3


@torch.compile(backend="eager")
def high(x):
    x = x - 1
    return middle(x).cos()


print(high(torch.ones(2)))
