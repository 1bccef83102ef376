"""Each call passes a different integer, and the allowed number of recompilations is one."""

CODE = "GB0039"
WHOLE = True
PARTIAL_ERROR = "FailOnRecompileLimitHit"
import torch


def run(compile):
    @compile(dynamic=False)
    def repeat(x, times):
        return x * times

    x = torch.ones(2)
    with torch._dynamo.config.patch(recompile_limit=1):
        return [repeat(x, n) for n in (2, 3, 4)]


def fix(compile):
    @compile(dynamic=False)
    def repeat(x, times):
        return x * times

    x = torch.ones(2)
    with torch._dynamo.config.patch(recompile_limit=1):
        return [repeat(x, torch.tensor(n)) for n in (2, 3, 4)]
