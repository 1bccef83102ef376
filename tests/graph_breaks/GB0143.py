"""Assigning a plain number to a list slice."""

CODE = "GB0143"
EAGER_ERROR = "TypeError"
import torch


def run(compile):
    @compile
    def blank(x):
        marks = [1, 2, 3]
        marks[0:2] = 0
        return x + sum(marks)

    return blank(torch.ones(2))


def fix(compile):
    @compile
    def blank(x):
        marks = [1, 2, 3]
        marks[0:2] = [0, 0]
        return x + sum(marks)

    return blank(torch.ones(2))
