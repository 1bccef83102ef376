# logs: graph_breaks
import minidynamo as torch


@torch.compile(backend="eager")
def talk(x):
    x = x + 1
    print("between")
    return torch.sin(x)


print(talk(torch.zeros(2)))
print(talk(torch.zeros(2)))
