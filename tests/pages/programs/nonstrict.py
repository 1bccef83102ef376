# logs: graph_breaks
import minidynamo as torch


def opaque(x):
    y = x.cos()
    torch._dynamo.graph_break()
    return y * 2


@torch.compile(backend="eager", fullgraph=True)
def strict(x):
    return opaque(x + 1)


@torch.compile(backend="eager", fullgraph=True)
def nonstrict(x):
    return torch._dynamo.nonstrict_trace(opaque)(x + 1)


x = torch.zeros(3)
try:
    strict(x)
except torch._dynamo.exc.Unsupported as e:
    print(e)
print(nonstrict(x))
