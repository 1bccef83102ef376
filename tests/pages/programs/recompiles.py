# logs: recompiles
import minidynamo as torch


@torch.compile(backend="eager")
def scaled(x, factor):
    return x * factor


for value in (True, False):
    scaled(torch.ones(3), value)
scaled(torch.ones(3, dtype=torch.float64), True)
scaled(torch.ones(2, 3), True)
