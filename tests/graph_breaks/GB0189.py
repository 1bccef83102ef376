"""A module's parameters are gone through after a counter of the module was changed."""

CODE = "GB0189"
import torch


def run(compile):
    class Growing(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2), requires_grad=False)
            self.calls = 0

        def forward(self, x, weight):
            self.weight = weight
            self.calls += 1
            for parameter in self.parameters():
                x = x + parameter
            return x

    return compile(Growing())(torch.ones(2), torch.nn.Parameter(torch.zeros(2), requires_grad=False))


def fix(compile):
    class Growing(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2), requires_grad=False)
            self.calls = 0

        def forward(self, x, weight):
            self.weight = weight
            self.calls += 1
            return x + self.weight

    return compile(Growing())(torch.ones(2), torch.nn.Parameter(torch.zeros(2), requires_grad=False))
