"""Programs whose graphs are made for GPUs: kinds of loops, whole models' parts with gradients, every op by itself.

`programs(target)` gives (label, TargetProgram) of all of them.
"""

import warnings

import minidynamo as torch
from minidynamo._dynamo import config
from minidynamo._dynamo.recording import recording

from ..tensor.drawn_calls import OPS, call_of, function_of, is_public
from ..tensor.op_calls import operands

F = torch.nn.functional
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
DTYPES = (*FLOATS, torch.int64, torch.int32, torch.uint8, torch.bool)


def rand(*sizes, dtype=torch.float32, grad=False):
    return torch.rand(sizes).to(dtype).requires_grad_(grad)


def _layer_norm(x, w, b):
    return F.layer_norm(x, (x.shape[-1],), w, b)


def _black_scholes(s, k, t):
    r, v = 0.02, 0.3
    d1 = ((s / k).log() + (r + v * v / 2) * t) / (v * t.sqrt())
    d2 = d1 - v * t.sqrt()
    cdf = [0.5 * (1 + torch.erf(d / 2**0.5)) for d in (d1, d2)]
    return s * cdf[0] - k * (-r * t).exp() * cdf[1]


def _attention(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / 8, -1) @ v


def _adam(p, g, m, v, step):
    m = m * 0.9 + g * 0.1
    v = v * 0.999 + g * g * 0.001
    p = p - 1e-3 * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
    return p, m, v


def _in_place(x, y):
    x.mul_(2).add_(y)
    return x.sum(1)


# label: (function, its arguments, made anew); arguments that want gradients have a backward graph.
GRAPHS = {
    "axpy": (lambda x, y: 2.5 * x + y, lambda: (rand(1 << 16), rand(1 << 16))),
    "axpy halves": (lambda x, y: 2.5 * x + y, lambda: (rand(1 << 12, dtype=torch.bfloat16),) * 2),
    "gelu": (F.gelu, lambda: (rand(1000, 1000),)),
    "gelu and back": (F.gelu, lambda: (rand(100, 100, grad=True),)),
    "broadcast": (lambda x, b: (x + b).relu(), lambda: (rand(64, 3, 40), rand(3, 1))),
    "transposed": (lambda x, y: x.t() * y, lambda: (rand(300, 200), rand(200, 300))),
    "strided": (lambda x: x[::2, 1::3] * 2, lambda: (rand(60, 90),)),
    "rows": (lambda x: x.sum(1), lambda: (rand(512, 1000),)),
    "short rows": (lambda x: x.amax(1), lambda: (rand(5000, 7),)),
    "one long row": (lambda x: (x * x).sum(), lambda: (rand(3_000_000),)),
    "few long rows": (lambda x: x.mean(1), lambda: (rand(3, 500_000),)),
    "columns": (lambda x: x.sum(0), lambda: (rand(3000, 700),)),
    "few columns": (lambda x: x.prod(0), lambda: (rand(3000, 5),)),
    "middle": (lambda x: x.sum(1), lambda: (rand(20, 300, 40),)),
    "softmax": (lambda x: torch.softmax(x, 1), lambda: (rand(1024, 1024),)),
    "softmax and back": (lambda x: torch.softmax(x, 1), lambda: (rand(64, 1000, grad=True),)),
    "softmax of long rows": (lambda x: torch.softmax(x, 1), lambda: (rand(8, 200_000),)),
    "log softmax, loss": (
        lambda x, y: F.cross_entropy(x, y),
        lambda: (rand(64, 100, grad=True), torch.arange(64)),
    ),
    "layer norm": (_layer_norm, lambda: (rand(2048, 768), rand(768), rand(768))),
    "layer norm and back": (
        _layer_norm,
        lambda: (rand(64, 768, grad=True), rand(768, grad=True), rand(768, grad=True)),
    ),
    "rms norm": (lambda x, w: F.rms_norm(x, (x.shape[-1],), w), lambda: (rand(64, 512), rand(512))),
    "batch norm": (
        lambda x, m, v: F.batch_norm(x, m, v, training=True),
        lambda: (rand(8, 16, 10, 10, grad=True), rand(16), rand(16)),
    ),
    "variance": (lambda x: torch.var_mean(x, 1), lambda: (rand(64, 3000),)),
    "norms": (lambda x: torch.linalg.vector_norm(x, dim=1), lambda: (rand(8192, 100),)),
    "mean squared error": (F.mse_loss, lambda: (rand(1000, 300, grad=True), rand(1000, 300))),
    "Black-Scholes": (_black_scholes, lambda: (rand(10000) + 1, rand(10000) + 1, rand(10000) + 1)),
    "attention": (_attention, lambda: tuple(rand(2, 4, 32, 64, grad=True) for _ in range(3))),
    "Adam": (_adam, lambda: (*(rand(1000, 100) for _ in range(4)), 3)),
    "in place": (_in_place, lambda: (rand(30, 40), rand(30, 40))),
    "where": (lambda a, b, c: torch.where(a > b, a * c, b), lambda: (rand(99, 99), rand(99, 99), rand(99, 99))),
    "integers": (lambda x, y: x // y + x % y, lambda: (torch.arange(1000), torch.arange(1000) + 1)),
    "booleans": (lambda x: (x > 0.5).any(1), lambda: (rand(100, 100),)),
    "mixed": (lambda x, y: x.to(torch.float16) + y.double(), lambda: (rand(100, 20), rand(100, 20))),
    "argmax": (lambda x: (x * 2).argmax(1), lambda: (rand(100, 100),)),
    "running sum": (lambda x: x.cumsum(1) * 2, lambda: (rand(100, 100),)),
    "no elements": (lambda x: x * 2 + 1, lambda: (rand(0, 4),)),
    "one element": (lambda x: x * 2 + 1, lambda: (rand(),)),
}


def _recorded(function, arguments, *, dynamic=False):
    """Programs of all graphs that a call compiles."""
    torch._dynamo.reset()
    with recording() as record, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.compile(function, backend="eager", dynamic=dynamic)(*arguments)
    return record.programs


def graphs(dynamic=False):
    """(label, program) of GRAPHS."""
    for label, (function, make) in GRAPHS.items():
        for program in _recorded(function, make(), dynamic=dynamic):
            yield f"{label}{', dynamic' if dynamic else ''}, {program.direction.lower()}", program


def _converted(value, dtype):
    is_plain = isinstance(value, torch.Tensor) and value.dtype == torch.float32
    return value.to(dtype) if is_plain else value


def ops():
    """(label, program) of every op by itself, of every dtype that it takes."""
    for name, op in OPS.items():
        if not is_public(op) or op["kind"] not in ("pointwise", "reduction", "kernel", "composite"):
            continue
        call = call_of(name)
        if call is None:
            continue
        function = function_of(call)
        given = [value for _, value in sorted(operands().items())]
        for dtype in DTYPES if op["kind"] in ("pointwise", "reduction") else DTYPES[:1]:
            arguments = [_converted(value, dtype) for value in given]
            try:
                function(*arguments)
            except Exception:
                continue  # not of this dtype
            for program in _recorded(function, [_converted(value, dtype) for value in given]):
                yield f"{name} {str(dtype).removeprefix('torch.')}, {program.direction.lower()}", program


def programs(target, every_op=True):
    """(label, program) of everything here for a target."""
    with config.patch(target=target):
        yield from graphs()
        yield from graphs(dynamic=True)
        if every_op:
            yield from ops()
