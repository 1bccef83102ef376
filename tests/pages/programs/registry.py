# logs:
import minidynamo as torch
from minidynamo import registry
from minidynamo.__main__ import main

for b in registry.all_breaks():
    if b.id == b.code < "GB9000":  # those of PyTorch's page
        print(f"{b.code} {b.type}")


@torch.compile(backend="eager", fullgraph=True)
def scaled(x):
    return x * (1j * x).sum().item()


try:
    scaled(torch.ones(2))
except torch._dynamo.exc.Unsupported as e:
    print(e)
    main(["explain", e.gb_code])
