# logs: graph_breaks,graph_code
import minidynamo as torch

torch._dynamo.config.capture_scalar_outputs = True


@torch.compile(backend="eager")
def scaled(x):
    return x * x.sum().item()


print(scaled(torch.ones(2, 2)))
