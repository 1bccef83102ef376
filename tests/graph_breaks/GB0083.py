"""A module has a hook for its gradients."""

CODE = "GB0083"
import torch


def run(compile):
    layer = torch.nn.Linear(2, 2)
    seen = []
    layer.register_full_backward_hook(lambda module, inputs, outputs: seen.append(1))

    @compile
    def loss(x):
        return layer(x).sum()

    loss(torch.ones(2)).backward()
    return seen


def fix(compile):
    layer = torch.nn.Linear(2, 2)
    seen = []

    @compile
    def forward(x):
        return layer(x)

    y = forward(torch.ones(2))
    y.register_hook(lambda grad: seen.append(1))
    y.sum().backward()
    return seen
