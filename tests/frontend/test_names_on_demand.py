"""Names of the library that are loaded when a trace asks for them: the graph made then is the one that runs."""

import subprocess
import sys

# Each function in a process of its own, in which nothing has asked for these names before.
PROGRAM = """
import os
import minidynamo as torch

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

def under_autocast(x):
    with torch.autocast('cpu'):
        return x @ x

def function_in_autocast(x):
    with torch.autocast('cpu', enabled=False):
        return Doubled.apply(x).sum()

def window(x):
    return torch.hann_window(4) + x.sum()

def linear_algebra(x):
    return torch.linalg.inv(x) + torch.fft.fft(x).real

def mapped(x):
    return torch.vmap(torch.sin)(x)

for program in (under_autocast, function_in_autocast, window, linear_algebra, mapped):
    if os.fork() == 0:
        graphs, ran = [], []

        def backend(gm, inputs):
            graphs.append(gm)
            return lambda *given: ran.append(1) or gm.forward(*given)

        compiled = torch.compile(program, backend=backend, fullgraph=True)
        x = torch.eye(2).requires_grad_()
        compiled(x)
        compiled(x)
        print(program.__name__, len(graphs), len(ran), flush=True)
        os._exit(0)
    os.wait()
"""


def test_one_graph_from_the_first_call_on(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=100, check=False)
    names = ("under_autocast", "function_in_autocast", "window", "linear_algebra", "mapped")
    assert done.stdout.splitlines() == [f"{name} 1 2" for name in names], done.stderr
