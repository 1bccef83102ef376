"""A hook of a tensor made inside an exported function, where backward() is captured as well."""

import minidynamo as torch

CODE = "GB0173"
EAGER_ERROR = "Unsupported"


def scale(gradient):
    return gradient * 5


def two_steps(x):
    middle = x + 1
    middle.register_hook(hook=scale)
    return middle.sin()


def run(compile):
    with torch._dynamo.compiled_autograd._enable(compile):
        return torch._dynamo.export(two_steps)(torch.tensor([0.5, 1.0], requires_grad=True))
