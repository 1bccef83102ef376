# logs: guards
import minidynamo as torch

SCALE = 2.5


@torch.compile(backend="eager")
def scaled(x, settings, flag):
    if flag:
        x = x * settings["k"]
    return x + SCALE


scaled(torch.ones(2, 3), {"k": 3, "other": 1}, True)
