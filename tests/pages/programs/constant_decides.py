# logs: graph_breaks,graph_code
import minidynamo as torch

weights = torch.tensor([1.0, -3.0])


@torch.compile(backend="eager")
def by_tensor(x):
    if weights.sum() > 0:
        return x + weights
    else:
        return x - weights


positive = (weights.sum() > 0).item()


@torch.compile(backend="eager")
def by_number(x):
    if positive:
        return x + weights
    else:
        return x - weights


print(by_tensor(torch.ones(2)))
print(by_number(torch.ones(2)))
