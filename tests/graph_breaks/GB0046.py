"""The compiled function asks whether inference mode is on."""

CODE = "GB0046"
import torch


def run(compile):
    @compile
    def f(x):
        if torch.is_inference_mode_enabled():
            return x * 0
        return x * 2

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x, inference):
        return x * 0 if inference else x * 2

    return f(torch.ones(2), torch.is_inference_mode_enabled())
