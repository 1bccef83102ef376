# logs:
import minidynamo as torch


@torch.compile(backend="eager", fullgraph=True)
def difference(values):
    values = iter(values)
    first = next(values)
    return first - next(values)


print(difference([torch.tensor(5.0), torch.tensor(2.0)]))
