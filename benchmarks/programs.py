#!/usr/bin/env python3
"""Programs with torch's interface, timed on minidynamo and, where it is installed, on torch in the same process.

benchmarks/programs.py [--threads N] [--quick]      prints JSON

Every program runs plain and compiled on each side, in turn, so that all see the same machine; what counts is the
shortest time of each. Threads of the side that ran last get the time to go to sleep.
"""

import argparse
import importlib
import importlib.util
import json
import time

import numpy as np
from kernels import wait_for_kernels

PAUSE = 0.25  # seconds; OpenMP's threads wait for 0.2 before they sleep
RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape, dtype=np.float32)


def softmax(torch, x):
    return torch.softmax(x, -1)


def layer_norm(torch, x, weight, bias):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), weight, bias)


def attention(torch, q, k, v):
    scores = torch.matmul(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    return torch.matmul(torch.softmax(scores, -1), v)


def convolution(torch, x, weight, bias):
    return torch.relu(torch.nn.functional.conv2d(x, weight, bias, padding=1))


def convolution_stem(torch, x, weight, bias):
    return torch.nn.functional.max_pool2d(torch.relu(torch.nn.functional.conv2d(x, weight, bias, 2, 3)), 3, 2, 1)


def product_with_epilogue(torch, x, weight, bias):
    return torch.nn.functional.gelu(torch.nn.functional.linear(x, weight, bias))


def product(torch, x, y):
    return torch.mm(x, y)


def transformer_block(torch, x, norm, qkv, out, up, down):
    functional = torch.nn.functional
    batch, length, width = x.shape
    heads = 8
    y = functional.layer_norm(x, (width,), norm, norm)
    parts = functional.linear(y, qkv).view(batch, length, 3, heads, width // heads)
    q, k, v = (parts[:, :, i].transpose(1, 2) for i in range(3))
    scores = torch.matmul(q, k.transpose(-2, -1)) * (width // heads) ** -0.5
    mixed = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).reshape(batch, length, width)
    x = x + functional.linear(mixed, out)
    y = functional.layer_norm(x, (width,), norm, norm)
    return x + functional.linear(functional.gelu(functional.linear(y, up)), down)


def blocks(width):
    return [1 + 0.1 * floats(width), *(0.02 * floats(*s) for s in
            ((3 * width, width), (width, width), (4 * width, width), (width, 4 * width)))]  # fmt: skip


# name -> (function, operands, multiply-adds or 0)
PROGRAMS = {
    "softmax": (softmax, lambda: [floats(1024, 1024)], 0),
    "layer norm": (layer_norm, lambda: [floats(2048, 768), floats(768), floats(768)], 0),
    "attention": (attention, lambda: [floats(4, 8, 256, 64) for _ in range(3)], 2 * 32 * 256 * 256 * 64),
    "conv 3x3": (convolution, lambda: [floats(4, 64, 56, 56), 0.05 * floats(64, 64, 3, 3), floats(64)],
                 4 * 56 * 56 * 64 * 64 * 9),
    "conv 7x7 + pool": (convolution_stem, lambda: [floats(4, 3, 224, 224), 0.05 * floats(64, 3, 7, 7), floats(64)],
                        4 * 112 * 112 * 64 * 3 * 49),
    "product + epilogue": (product_with_epilogue, lambda: [floats(512, 512), floats(2048, 512), floats(2048)],
                           512 * 512 * 2048),
    "product 256": (product, lambda: [floats(256, 256) for _ in range(2)], 256**3),
    "product 1024": (product, lambda: [floats(1024, 1024) for _ in range(2)], 1024**3),
    "product 2048": (product, lambda: [floats(2048, 2048) for _ in range(2)], 2048**3),
    "vector by matrix": (product_with_epilogue, lambda: [floats(1, 1024), floats(4096, 1024), floats(4096)],
                         4096 * 1024),
    "transformer block": (transformer_block, lambda: [floats(4, 128, 512), *blocks(512)], 0),
    "transformer step": (transformer_block, lambda: [floats(1, 1, 512), *blocks(512)], 0),
}  # fmt: skip


def timed(call, repeat):
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - start) / repeat


def variants(modules, function, arrays):
    """name -> call without arguments, warmed up, all on the same numbers."""
    calls, results = {}, {}
    for name, torch in modules.items():
        torch._dynamo.reset()
        operands = [torch.from_numpy(a) for a in arrays]

        def plain(*operands, torch=torch):
            return function(torch, *operands)

        for kind, f in (("plain", plain), ("compiled", torch.compile(plain))):
            results[name, kind] = f(*operands).numpy()
            f(*operands)
            wait_for_kernels(torch)
            calls[name, kind] = lambda f=f, operands=operands: f(*operands)
    first, *others = results.values()
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-3, atol=1e-3)
    return calls


def measure(modules, rounds, threads):
    found = {}
    for name, (function, operands, _) in PROGRAMS.items():
        calls = variants(modules, function, operands())
        best = dict.fromkeys(calls, float("inf"))
        repeat = max(1, int(0.002 / max(timed(call, 1) for call in calls.values())))
        for _ in range(rounds):
            for module in modules:
                time.sleep(PAUSE if len(modules) > 1 and threads > 1 else 0)
                for key, call in calls.items():
                    if key[0] == module:
                        best[key] = min(best[key], timed(call, repeat), timed(call, repeat))
        found[name] = {f"{module} {kind}": seconds * 1e3 for (module, kind), seconds in best.items()}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args()
    names = ["minidynamo", *(["torch"] if importlib.util.find_spec("torch") else [])]
    modules = {name: importlib.import_module(name) for name in names}
    for torch in modules.values():
        torch.set_num_threads(options.threads)
        torch.set_grad_enabled(False)
    print(json.dumps(measure(modules, 4 if options.quick else 15, options.threads)))


if __name__ == "__main__":
    main()
