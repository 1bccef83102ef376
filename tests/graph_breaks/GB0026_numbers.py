"""A subclass with an __init__ of its own is made from a list of numbers."""

CODE = "GB0026"
import torch


class Weights(torch.Tensor):
    def __init__(self, values):
        self.count = len(values)


def run(compile):
    @compile
    def weigh(x):
        weights = Weights([0.25, 0.75])
        return (weights * x).tolist(), weights.count

    return weigh(torch.tensor([4.0, 8.0]))


def fix(compile):
    @compile
    def weigh(x):
        weights = Weights(torch.tensor([0.25, 0.75]))
        return weights * x, weights.count

    values, count = weigh(torch.tensor([4.0, 8.0]))
    return values.tolist(), count
