# logs: graph_breaks,graph_code
import minidynamo as torch


@torch.compile(backend="eager")
def signed(x):
    total = x.sum()
    if total > 0:
        return x * total.item()
    return x - total.item()


print(signed(torch.ones(2, 2)))
print(signed(-torch.ones(2, 2)))
