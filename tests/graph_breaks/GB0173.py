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


def fix(compile):
    def one_step(middle):
        return middle.sin()

    x = torch.tensor([0.5, 1.0], requires_grad=True)
    middle = x + 1
    middle.register_hook(scale)
    compile(one_step)(middle).sum().backward()
    return torch._dynamo.export(one_step)(middle)[0](middle), x.grad
