"""A module with its own __getattribute__ is asked for a key of its __dict__."""

CODE = "GB0032"
import torch


def run(compile):
    class Scaled(torch.nn.Module):
        torchdynamo_force_dynamic = False

        def __init__(self):
            super().__init__()
            self.factor = 2

        def __getattribute__(self, name):
            return super().__getattribute__(name)

    scaled = Scaled()

    @compile
    def apply(x):
        return x * 2 if "factor" in scaled.__dict__ else x

    return apply(torch.ones(2))


def fix(compile):
    class Scaled(torch.nn.Module):
        torchdynamo_force_dynamic = False

        def __init__(self):
            super().__init__()
            self.factor = 2

    scaled = Scaled()

    @compile
    def apply(x):
        return x * 2 if "factor" in scaled.__dict__ else x

    return apply(torch.ones(2))
