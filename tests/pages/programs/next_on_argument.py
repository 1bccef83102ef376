# logs:
import minidynamo as torch


@torch.compile(backend="eager", fullgraph=True)
def difference(values):
    first = next(values)
    return first - next(values)


try:
    difference(iter([torch.tensor(5.0), torch.tensor(2.0)]))
except torch._dynamo.exc.Unsupported as e:
    print(e)
