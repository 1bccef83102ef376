# logs:
import minidynamo as torch


def inner(x):
    torch._dynamo.graph_break(msg="here")
    return x


@torch.compile(backend="eager", fullgraph=True)
def outer(x):
    x = x + 1
    return inner(x)


try:
    outer(torch.ones(2))
except torch._dynamo.exc.Unsupported as e:
    print(e)
    print(e.gb_code, e.gb_type, [(f.name, f.lineno) for f in e.real_stack])
