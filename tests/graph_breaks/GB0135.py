"""Attaching an extra attribute to an exception object built in the compiled function."""

CODE = "GB0135"
import torch


def run(compile):
    @compile
    def tag(x):
        problem = ValueError("bad input")
        problem.code = 4
        return x + problem.code

    return tag(torch.ones(2))


def fix(compile):
    @compile
    def tag(x):
        code = 4
        problem = ValueError("bad input", code)
        return x + problem.args[1]

    return tag(torch.ones(2))
