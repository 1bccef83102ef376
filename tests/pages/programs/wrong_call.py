# logs: graph_breaks
import minidynamo as torch


@torch.compile(backend="eager")
def cosine_of(x):
    y = torch.cos(x, x)
    return y


try:
    cosine_of(torch.ones(2, 2))
except TypeError as e:
    print("TypeError", len(str(e)) > 0)
