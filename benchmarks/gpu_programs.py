"""What is timed, predicted and generated for GPUs: the same source for minidynamo and for torch.

`programs(torch)` gives {name: (function, {argument: sizes}, bytes that have to be moved or multiply-adds)}.
"""

import math

SIZE = 1 << 24


def _gelu(torch, x):
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _black_scholes(torch, spot, strike, years):
    rate, volatility = 0.02, 0.3
    spread = volatility * years.sqrt()
    first = ((spot / strike).log() + (rate + volatility * volatility / 2) * years) / spread
    below = [0.5 * (1 + torch.erf(d / math.sqrt(2))) for d in (first, first - spread)]
    return spot * below[0] - strike * (-rate * years).exp() * below[1]


def _gpt_step(torch, x, norm, qkv, out, up, down):
    """One block of a Transformer, heads of 64."""
    functional = torch.nn.functional
    batch, length, width = x.shape
    y = functional.layer_norm(x, (width,), norm, norm)
    parts = functional.linear(y, qkv).view(batch, length, 3, width // 64, 64)
    q, k, v = (parts[:, :, i].transpose(1, 2) for i in range(3))
    scores = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) / 8, -1)
    mixed = torch.matmul(scores, v).transpose(1, 2).reshape(batch, length, width)
    x = x + functional.linear(mixed, out)
    y = functional.layer_norm(x, (width,), norm, norm)
    return x + functional.linear(functional.gelu(functional.linear(y, up)), down)


def programs(torch):
    """name -> (function, sizes of its arguments, multiply-adds of its products or 0)."""
    functional = torch.nn.functional
    width, length, batch = 768, 256, 8
    rows = batch * length
    block = rows * width * width * 12 + 2 * batch * (width // 64) * length * length * 64
    return {
        "axpy": (lambda x, y: 2.5 * x + y, [(SIZE,), (SIZE,)], 0),
        "gelu": (lambda x: _gelu(torch, x), [(SIZE,)], 0),
        "softmax": (lambda x: torch.softmax(x, -1), [(8192, 2048)], 0),
        "layer norm": (
            lambda x, w, b: functional.layer_norm(x, (2048,), w, b),
            [(8192, 2048), (2048,), (2048,)],
            0,
        ),
        "row sums": (lambda x: x.sum(1), [(8192, 2048)], 0),
        "column sums": (lambda x: x.sum(0), [(8192, 2048)], 0),
        "transpose": (lambda x: x.t().contiguous() + 1, [(4096, 4096)], 0),
        "mean squared error": (lambda x, y: ((x - y) * (x - y)).mean(), [(SIZE,), (SIZE,)], 0),
        "Black-Scholes": (lambda s, k, t: _black_scholes(torch, s, k, t), [(SIZE // 4,)] * 3, 0),
        "product 1024": (torch.mm, [(1024, 1024), (1024, 1024)], 1024**3),
        "product 4096": (torch.mm, [(4096, 4096), (4096, 4096)], 4096**3),
        "GPT block": (
            lambda *given: _gpt_step(torch, *given),
            [
                (batch, length, width),
                (width,),
                (3 * width, width),
                (width, width),
                (4 * width, width),
                (width, 4 * width),
            ],
            block,
        ),
    }
