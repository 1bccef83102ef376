"""Tuple unpacking of a custom pair object that cannot be iterated."""

CODE = "GB0063"
EAGER_ERROR = "TypeError"
import torch


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right


def run(compile):
    @compile
    def f(pair):
        left, right = pair
        return left - right

    return f(Pair(torch.ones(2), torch.zeros(2)))


def fix(compile):
    @compile
    def f(pair):
        left, right = pair.left, pair.right
        return left - right

    return f(Pair(torch.ones(2), torch.zeros(2)))
