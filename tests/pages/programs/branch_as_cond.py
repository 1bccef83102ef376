# logs: graph_breaks,graph_code
import minidynamo as torch


@torch.compile(backend="eager")
def toward_zero(x):
    return torch.cond(
        x.sum() > 0,
        lambda x: x - 1,
        lambda x: x + 1,
        (x,),
    )


print(toward_zero(torch.ones(2, 2)))
print(toward_zero(-torch.ones(2, 2)))
