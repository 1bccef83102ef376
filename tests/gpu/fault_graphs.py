"""Functions and sizes at which each shape of kernel has its ends: blocks, warps, accesses, chunks and parts that are
full, one short of it and one more; data in which every element counts.

`graphs()` gives (name, function, inputs, dynamic); `shapes` narrows them down.
"""

import zlib

import numpy

import minidynamo as torch

F = torch.nn.functional
CHUNK, PART = 1024, 16 * 1024


def values(*shape, dtype="float32"):
    """Drawn by the shape: no two of the elements are the same, signs are mixed."""
    numbers = numpy.random.default_rng(zlib.crc32(repr(shape).encode()))
    x = torch.tensor(numbers.standard_normal(shape))
    if dtype.startswith("int"):
        return (x * 20).to(getattr(torch, dtype))
    return x.to(getattr(torch, dtype))


def peaks(rows, n):
    """Each row has its greatest and its least element elsewhere: they go all through the row."""
    x = values(rows, n).numpy()
    at = numpy.arange(rows)
    x[at, at % n] = 100 + at
    x[at, (at * 7 + 3) % n] -= 300
    return torch.tensor(x)


def special(rows, n):
    """Zeros of both signs, infinities, what is no number."""
    x = values(rows, n).numpy()
    for number, value in enumerate((0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan)):
        x[number % rows, number * 5 % n] = value
    x[-1, :] = -0.0
    return torch.tensor(x)


def _elements():
    for n in (1, 3, 4, 5, 255, 256, 257, 1020, 1024, 1028, 1030):
        yield lambda x, y: x * y + 1, (values(n), values(n))
    for dtype, n in (("float64", 514), ("float16", 2056), ("int8", 4112), ("bfloat16", 2050)):
        yield lambda x, y: x * y, (values(n, dtype=dtype), values(n, dtype=dtype))
    for n in (4, 9, 1025, 1029):  # memory that begins in the middle of an access
        yield lambda x, y: x[1:] * y[:-1], (values(n), values(n))
        yield lambda x, y: x[:-1] * y[1:], (values(n), values(n))
    for shape in ((7, 150), (3, 4), (64, 12), (65, 5), (257, 4), (9, 33)):
        yield lambda x, r, c: x * r + c, (values(*shape), values(shape[1]), values(shape[0], 1))
        yield lambda x: x[:, 1:] * 2, (values(*shape),)
        yield lambda x: x[:, ::2] * x[:, :1], (values(*shape),)
        yield (
            lambda x, r, c: (x * (r * 2), r * 2, c + 1, x - (c + 1)),
            (values(*shape), values(shape[1]), values(shape[0], 1)),
        )
    yield lambda x, y: (x + (y * 2), y * 2), (values(40, 3, 20), values(3, 1))
    yield lambda x: x.permute(1, 0, 2) * 2, (values(5, 6, 7),)


def _tiles():
    for shape in ((16, 16), (31, 31), (32, 32), (33, 33), (64, 45), (70, 32), (16, 100)):
        yield lambda x, y: x.t() + y, (values(*shape), values(*shape[::-1]))
        yield lambda x, r: (x.t() * (r + 1), r + 1), (values(*shape), values(shape[0]))
    for shape in ((3, 40, 33), (2, 17, 64)):
        yield lambda x: x.transpose(1, 2) * 2, (values(*shape),)
        yield lambda x, y: x.transpose(1, 2) + y, (values(*shape), values(shape[0], shape[2], shape[1]))
        yield lambda x: x.permute(2, 0, 1) + 1, (values(*shape),)
        yield lambda x, y: (x.transpose(1, 2) + y).exp(), (values(*shape), values(shape[2], 1))
    yield lambda x, y: x.t() * y, (values(35, 40, dtype="float64"), values(40, 35, dtype="float64"))
    yield lambda x, y: x.t() * y, (values(35, 40, dtype="int8"), values(40, 35, dtype="int8"))
    yield lambda x, y: (x.t() + y, x.t() * (y[:, :1] + 1), y[:, :1] + 1), (values(35, 40), values(40, 35))


def _folds(x):
    return x.sum(1), x.amax(1), x.amin(1)


ROWS = (1, 2, 3, 5, 8, 16, 31, 32, 33, 48, 63, 64, 65, 96, 100, 128, 129, 255, 256, 257, 300, 512, 1000, 1023, 1024)
LONG_ROWS = (1025, 1100, 2047, 2048, 2049, 3000, 4096, 5000, 16384, 16385, 20000)
PARTS = (2 * PART, 2 * PART + 1, 3 * PART - 1, 3 * PART + CHUNK + 40)


def _rows():
    for n in ROWS:
        for rows in (1, 3, 4, 5, 17) if n > 16 else (1, 15, 16, 17, 63, 64, 65, 130):
            yield _folds, (values(rows, n),)
    for n in (5, 64, 100, 130):
        yield _folds, (peaks(2 * n, n),)
        yield _folds, (special(7, n),)
    for n in LONG_ROWS:
        yield _folds, (values(2, n),)
    yield _folds, (peaks(40, 2100),)
    yield lambda x: x.sum(1), (values(5, 0),)
    yield lambda x: x.sum(), (values(0),)
    for dtype in ("float64", "float16", "int32", "int64"):
        yield _folds, (values(6, 300, dtype=dtype),)
        yield _folds, (values(2, 3000, dtype=dtype),)
    yield lambda x: ((x * 2).sum(1), x * 2), (values(5, 70),)
    yield lambda x: (x.sum(1), x.exp()), (values(2, 2100),)
    yield lambda x: x.transpose(0, 1).sum(2), (values(3, 5, 40),)
    yield lambda x, y: (x * y).sum(1), (values(9, 40), values(9, 1))


def _parts():
    for n in PARTS:
        yield lambda x: (x.sum(), x.amax()), (values(n),)
        yield lambda x: (x.sum(1), (x * 2).amin(1)), (values(2, n),)
    yield lambda x: (x.sum(), x + 1), (values(2 * PART + 100),)
    yield lambda x: x.amax(1), (peaks(33, 2 * PART),)
    yield lambda x: x.sum(), (values(33 * PART + 5),)
    for columns in (1, 3, 33):
        yield lambda x: (x.sum(0), x.amax(0)), (values(2 * PART + 7, columns),)
        yield lambda x: x.sum(1), (values(2, 2 * PART, columns),)
    yield lambda x: x.amax(0), (peaks(40, 2 * PART).t().contiguous(),)


def _passes():
    for n in (1, 5, 32, 64, 100, 128, 160, 300, 1024, 1025, 1500, 3000, 4096, 20000):
        rows = 9 if n < 2000 else 2
        yield lambda x: torch.softmax(x, 1), (values(rows, n),)
        yield lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), (values(rows, n), values(n), values(n))
        yield lambda x: torch.log_softmax(x, -1), (values(rows, n),)
    yield lambda x: torch.softmax(x, 1), (peaks(200, 100),)
    yield lambda x: torch.softmax(x, 1), (special(7, 100),)
    yield lambda x: x.var(1), (values(5, 3000),)
    yield lambda x, s: torch.softmax(x * s, 1) * s, (values(9, 40), values(9, 1))
    yield lambda x: torch.softmax(x, 0), (values(2 * PART + 9),)


COLUMNS = (
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    15,
    16,
    17,
    31,
    32,
    33,
    50,
    64,
    65,
    100,
    1000,
    1023,
    1024,
    1025,
    2048,
    3000,
    4096,
    4097,
    5000,
    9000,
)


def _columns():
    for n in COLUMNS:
        for columns in (1, 3, 31, 32, 33, 70) if n < 100 else (3, 33):
            yield lambda x: (x.sum(0), x.amax(0), x.amin(0)), (values(n, columns),)
    for n in (1, 5, 64, 1030):
        yield lambda x: x.sum(1) * 2, (values(3, n, 33),)
        yield lambda x: x.sum(1) * 2, (values(3, n, 64),)
    yield lambda x: x.sum(0), (values(0, 33),)
    yield lambda x: x.sum(1), (values(3, 0, 33),)
    yield lambda x: (x.amax(0), x.amin(0)), (peaks(70, 40).t().contiguous(),)
    yield lambda x: (x.amax(0), x.amin(0)), (peaks(300, 130).t().contiguous(),)
    yield lambda x: (x.amax(0), x.amin(0)), (peaks(1500, 1100).t().contiguous(),)
    yield lambda x: (x.sum(0), x.amax(0)), (special(7, 40),)
    for n in (64, 1000, 1024, 1025, 3001):
        yield lambda x: (x.t().sum(1), x.t().amax(1)), (values(n, 33),)
    yield lambda x: x.t().amax(1), (peaks(130, 70).t().contiguous(),)
    yield lambda x: (x.sum(0), x * 2), (values(70, 33),)
    yield lambda x, y: (x * y).sum(0) + y, (values(60, 33), values(33))
    for dtype in ("float64", "float16", "int32"):
        yield lambda x: (x.sum(0), x.amax(0)), (values(70, 33, dtype=dtype),)


def _columns_again():
    """Columns that are walked more than once."""
    for n in (1, 2, 3, 5, 8, 31, 32, 33, 100, 128, 500, 1000, 1024, 1025):
        for columns in (1, 7, 8, 9, 40) if n < 100 else (9, 16):
            yield lambda x: torch.softmax(x, 0), (values(n, columns),)
        yield lambda x: x - x.mean(0), (values(n, 9),)
        yield lambda x: torch.log_softmax(x, 1), (values(3, n, 10),)
    yield lambda x: torch.softmax(x, 0), (peaks(100, 70).t().contiguous(),)
    yield lambda x: torch.softmax(x, 0), (special(7, 40),)
    yield lambda x, w, b: (x - x.mean(0)) * w + b, (values(60, 33), values(33), values(60, 1))
    yield lambda x: (x - x.mean(0)) / x.var(0), (values(60, 33),)
    yield lambda x: (x.amax(0), x / x.sum(0), x.sum(0) * 2), (values(70, 33),)
    for dtype in ("float64", "float16"):
        yield lambda x: torch.softmax(x, 0), (values(300, 20, dtype=dtype),)


def _varying():
    """Sizes that are not known while code is made."""
    for n in (2, 5, 33, 64, 100, 1000, 1024, 1025, 2048, 5000, 8192, 8200):
        yield _folds, (values(3, n),)
        yield lambda x: torch.softmax(x, 1), (values(5, n),)
        yield lambda x: (x.sum(0), x.amax(0)), (values(n, 33),)
        yield lambda x: x * 2 + 1, (values(3, n),)
    for shape in ((16, 17), (33, 70), (64, 32)):
        yield lambda x, y: x.t() + y, (values(*shape), values(*shape[::-1]))
    yield lambda x: x.transpose(1, 2) * 2, (values(3, 40, 33),)
    yield lambda x, r, c: x * r + c, (values(9, 33), values(33), values(9, 1))
    yield lambda x: x[:, 1:] * 2, (values(9, 33),)


SHAPES = {
    "elements": _elements,
    "tiles": _tiles,
    "rows": _rows,
    "parts": _parts,
    "passes": _passes,
    "columns": _columns,
    "again": _columns_again,
    "varying": _varying,
}


def graphs(shapes=SHAPES):
    for shape in shapes:
        for number, (function, inputs) in enumerate(SHAPES[shape]()):
            sizes = " ".join("x".join(map(str, x.shape)) for x in inputs)
            yield f"{shape} {number}: {sizes}", function, inputs, shape == "varying"
