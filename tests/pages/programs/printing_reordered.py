# logs: graph_breaks,graph_code
import minidynamo as torch

torch._dynamo.config.reorderable_logging_functions.add(print)


@torch.compile(backend="eager")
def talk(x):
    x += 1
    print("between")
    return torch.sin(x)


print(talk(torch.zeros(2)))
