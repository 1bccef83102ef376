"""A function run at compile time asks for a break."""

CODE = "GB0030"
import torch

comptime = torch._dynamo.comptime.comptime


SEEN = []


def stop(context):
    context.graph_break("enough")


def look(context):
    SEEN.append(context)


def run(compile):
    @compile
    def f(x):
        y = x + 3
        comptime(stop)
        return y * y

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        y = x + 3
        comptime(look)
        return y * y

    return f(torch.ones(2)), len(SEEN) <= 1
