# logs: graph,graph_sizes,aot_graphs,bytecode,perf_hints,recompiles_verbose
# shows: bytecode
import minidynamo as torch


@torch.compile
def weighted(x, factor, kept):
    y = (x.T + 1).sum(0)
    kept.append(y)
    return y * factor


@torch.compile
def halves(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * x


weighted(torch.ones(3, 4).T, True, [])
weighted(torch.ones(4, 5, dtype=torch.float64), False, [1])
halves(torch.ones(3))
