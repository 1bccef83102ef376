"""A quantized weight of the program's is read: no stand-in of its type can be made."""

CODE = "GB0064"
import torch


def weight():
    return torch.quantize_per_tensor(torch.tensor([0.25, -0.5]), 0.25, 1, torch.quint8)


def run(compile):
    kept = weight()

    @compile
    def scaled(x):
        return x * kept.dequantize()

    return scaled(torch.ones(2))


def fix(compile):
    kept = weight().dequantize()

    @compile
    def scaled(x):
        return x * kept

    return scaled(torch.ones(2))
