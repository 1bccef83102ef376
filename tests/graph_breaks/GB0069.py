"""The compiled function tries to import a package that is not installed and falls back."""

CODE = "GB0069"
import torch


def run(compile):
    @compile
    def f(x):
        try:
            import fast_kernels_not_installed as kernels
        except ImportError:
            kernels = None
        return x * 2 if kernels is None else kernels.double(x)

    return f(torch.ones(2))


def fix(compile):
    try:
        import fast_kernels_not_installed as kernels
    except ImportError:
        kernels = None

    @compile
    def f(x):
        return x * 2 if kernels is None else kernels.double(x)

    return f(torch.ones(2))
