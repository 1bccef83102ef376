# logs: graph_breaks,graph_code
import minidynamo as torch


@torch.compile(backend="eager")
def toward_zero(x):
    if x.sum() > 0:
        return x - 1
    return x + 1


print(toward_zero(torch.ones(2, 2)))
