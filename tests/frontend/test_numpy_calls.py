"""np.* calls in compiled functions give what NumPy gives, in one graph."""

import numpy as np
import pytest

import minidynamo as torch
from frontend.arrays import agree

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def sample(dtype, shape=(3, 4), seed=0):
    """Small values, so that no dtype overflows where NumPy would warn."""
    generator = np.random.default_rng(seed)
    values = generator.integers(1, 6, shape)
    return values > 3 if dtype == "bool" else values.astype(dtype)


def one(function, *shapes, dtype="float64"):
    agree(function, lambda: [sample(dtype, shape, i) for i, shape in enumerate(shapes)])


UNARY = [
    np.negative, np.absolute, np.abs, np.square, np.sqrt, np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10,
    np.log1p, np.sin, np.cos, np.tan, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.floor, np.ceil, np.trunc,
    np.rint, np.sign, np.isnan, np.isinf, np.isfinite, np.logical_not, np.positive, np.reciprocal, np.degrees,
    np.radians,
]  # fmt: skip
BINARY = [
    np.add, np.subtract, np.multiply, np.divide, np.true_divide, np.floor_divide, np.remainder, np.fmod, np.power,
    np.maximum, np.minimum, np.fmax, np.fmin, np.equal, np.not_equal, np.less, np.less_equal, np.greater,
    np.greater_equal, np.logical_and, np.logical_or, np.logical_xor, np.arctan2, np.hypot, np.copysign, np.logaddexp,
]  # fmt: skip


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda f: f.__name__)
def test_unary_ufuncs(ufunc):
    def apply(a, b, c):
        return ufunc(a), ufunc(b), ufunc(c)

    agree(apply, lambda: [sample(d) for d in ("int32", "float32", "float64")], tolerance=1e-5)


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda f: f.__name__)
def test_binary_ufuncs(ufunc):
    def apply(a, b, c):
        return ufunc(a, b), ufunc(b, c), ufunc(a, 2.5), ufunc(c, 3), ufunc(2, b)

    agree(apply, lambda: [sample(d, seed=i) for i, d in enumerate(("int32", "float32", "float64"))], tolerance=1e-5)


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", ["bool", "uint8", "int16", "int64", "float16", "float32", "float64"])
def test_promotion_of_arrays(left, right):
    def apply(a, b):
        return a + b, a * b, a / b, a == b, np.maximum(a, b)

    agree(apply, lambda: [sample(left), sample(right, seed=1)], tolerance=1e-2, backends=("eager",))


@pytest.mark.parametrize("dtype", DTYPES)
def test_promotion_of_numbers(dtype):
    def apply(a):
        return a + 1, 2 * a, a + 1.5, 1.5 - a, a / 2, a > 2, 2 <= a, a == 2.0, a * True

    agree(apply, lambda: [sample(dtype)], tolerance=1e-2, backends=("eager",))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32", "float64"])
def test_promotion_of_scalars(dtype):
    def apply(a, s):
        return a + s, s * a, np.float32(2) * a, a - np.float64(1), s + s, np.int8(3) + s

    agree(apply, lambda: [sample("float32"), np.dtype(dtype).type(3)])


def test_operators_of_arrays():
    def apply(a, b):
        return a + b, a - b, a * b, a / b, a // b, a % b, a**2, -a, +a, abs(a), a < b, a <= b, a == b, a != b, a > b

    one(apply, (3, 4), (4,))


def test_integer_operators():
    def apply(a, b):
        return a + b, a // b, a % b, a & b, a | b, a ^ b, ~a, a << 1, a >> 1, a**2, a / b

    agree(apply, lambda: [sample("int64"), sample("int64", seed=1)])


def test_bool_operators():
    def apply(a, b):
        return a & b, a | b, a ^ b, ~a, a + b, a * b, np.sum(a), a.mean()

    agree(apply, lambda: [sample("bool"), sample("bool", seed=1)])


def test_lists_are_operands():
    def apply(a):
        return a + [1, 2, 3, 4], [1.5, 2, 3, 4] * a, np.add(a, (1, 2, 3, 4)), np.maximum([1, 2, 3, 4], a)

    one(apply, (3, 4))


REDUCTIONS = [np.sum, np.prod, np.mean, np.min, np.max, np.var, np.std, np.all, np.any, np.ptp, np.count_nonzero]


@pytest.mark.parametrize(
    ("function", "dtype"),
    [(f, t) for f in REDUCTIONS for t in ("bool", "int32", "float32", "float64") if (f, t) != (np.ptp, "bool")],
)  # NumPy subtracts no bools
def test_reductions(function, dtype):
    def apply(a):
        return (
            function(a), function(a, axis=0), function(a, axis=-1), function(a, axis=(0, 2)), function(a, 1),
            function(a, axis=1, keepdims=True), function(a, keepdims=True),
        )  # fmt: skip

    agree(apply, lambda: [sample(dtype, (2, 3, 4))], tolerance=1e-5)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "float64"])
def test_positions_and_running_totals(dtype):
    def apply(a):
        return (
            np.argmax(a), np.argmin(a), np.argmax(a, axis=0), a.argmin(axis=1), np.argmax(a, 1, keepdims=True),
            np.cumsum(a), np.cumsum(a, axis=1), np.cumprod(a, axis=0), a.cumsum(0),
        )  # fmt: skip

    agree(apply, lambda: [sample(dtype)])


def test_reductions_with_dtype_ddof_and_initial():
    def apply(a, b):
        return (
            np.sum(a, dtype=np.float32), a.sum(axis=0, dtype="int64"), np.mean(b, dtype=np.float32), np.mean(b),
            np.var(a, ddof=1), a.std(axis=0, ddof=1), np.sum(a, initial=10), np.max(b, initial=100), np.prod(b, axis=1),
        )  # fmt: skip

    agree(apply, lambda: [sample("float64"), sample("int32")])


def test_methods():
    def apply(a):
        return (
            a.sum(), a.mean(0), a.max(), a.min(axis=1), a.std(), a.var(0), a.reshape(2, 6), a.reshape((6, -1)),
            a.reshape(-1), a.ravel(), a.flatten(), a.T, a.transpose(), a.transpose(1, 0), a.swapaxes(0, 1), a.copy(),
            a.astype(np.float32), a.astype("int32"), a.astype(int), a.clip(2, 3), a.round(), a.all(), a.any(),
            a.argmax(), a.repeat(2, axis=0), a.dot(a.T), a.trace(), a.squeeze(), a.prod(), a.cumsum(),
        )  # fmt: skip

    one(apply, (3, 4))


def test_attributes():
    def apply(a):
        rows, columns = a.shape
        return a.shape, a.ndim, a.size, a.dtype == np.float64, a.itemsize, a.nbytes, len(a), rows * columns, a.T.shape

    with torch._dynamo.config.patch(trace_more=True):  # the registry lists dtype
        one(apply, (3, 4))


def test_creation():
    def apply(a):
        n = a.shape[0]
        return (
            np.zeros(3), np.ones((2, n)), np.full(n, 7), np.full((2, 2), 1.5), np.full(2, True), np.arange(5),
            np.arange(1, 7, 2), np.arange(0.5, 3), np.arange(n, dtype=np.float32), np.linspace(0, 1, 7),
            np.linspace(0, 1, 4, endpoint=False), np.eye(3), np.eye(2, 4, k=1), np.identity(2), np.zeros_like(a),
            np.ones_like(a, dtype=int), np.full_like(a, 3), np.array([1, 2, 3]), np.array([[1.0, 2], [3, 4]]),
            np.array([True, False]), np.array(a), np.asarray([1.5]), np.zeros(2, dtype=np.int32), np.array(2.5),
            np.array([a[0], a[1]]), np.tri(3), np.empty((0, 2)), np.array([]), np.ones((), dtype="f4"),
        )  # fmt: skip

    one(apply, (3, 4))


def test_shapes():
    def apply(a, b):
        return (
            np.reshape(a, (4, 3)), np.transpose(a), np.swapaxes(a, 0, 1), np.moveaxis(a, 0, -1), np.ravel(a),
            np.expand_dims(a, 0), np.expand_dims(a, (0, 3)), np.squeeze(a[None]), a[:, None], a[np.newaxis, ..., 0],
            np.concatenate([a, b]), np.concatenate((a, b), axis=1), np.concatenate([a, b], axis=None),
            np.stack([a, b]), np.stack([a, b], axis=-1), np.vstack([a, b]), np.hstack([a, b]), np.dstack([a, b]),
            np.column_stack([a[:, 0], b]), np.split(a, 2, axis=1), np.split(a, [1, 2]), np.array_split(a, 2),
            np.hsplit(a, 2), np.vsplit(a, 3), np.broadcast_to(a[0], (2, 4)), np.repeat(a, 2), np.repeat(a, 3, axis=1),
            np.tile(a, 2), np.tile(a, (2, 1)), np.roll(a, 1), np.roll(a, 2, axis=1), np.tril(a), np.triu(a, 1),
            np.diag(a), np.diag(a[0]), np.diagonal(a, 1), np.trace(a), np.atleast_2d(a[0]), np.atleast_1d(a[0, 0]),
            np.meshgrid(a[0], b[1]), np.shape(a), np.ndim(a), np.size(a), np.diff(a), np.diff(a, axis=0),
        )  # fmt: skip

    one(apply, (3, 4), (3, 4))


def test_products():
    def apply(a, b, v):
        return (
            a @ b, np.matmul(a, b), np.dot(a, b), a @ v, np.dot(v, v), v @ v, np.inner(a, a), np.outer(v, v),
            np.vdot(a, a), np.tensordot(a, b, axes=1), np.tensordot(a, b, axes=([1], [0])), np.kron(a, b),
            np.linalg.norm(a), np.linalg.norm(a, axis=1), np.linalg.norm(v, 1), np.linalg.norm(v, np.inf),
            np.linalg.norm(a, axis=0, keepdims=True), np.linalg.norm(a, 1), np.linalg.norm(a, "fro"),
            np.linalg.norm(v, 3), np.dot(2.0, v), np.trace(a @ b),
        )  # fmt: skip

    one(apply, (3, 4), (4, 3), (4,))


def test_products_of_integers():
    agree(lambda a, b: (a @ b, np.dot(a, b), a.dot(b)), lambda: [sample("int32"), sample("int64", (4, 2))])


def test_products_of_more_dimensions():
    one(lambda a, b: (a @ b, np.dot(a, b), np.inner(a, a)), (2, 3, 4), (2, 4, 3))


def test_choices():
    def apply(a, b):
        return (
            np.where(a > 2, a, b), np.where(a > 2, 1, 0), np.where(a > 2, a, 0.5), np.where([True] * 4, a, b),
            np.clip(a, 2, 4), np.clip(a, None, 3), np.clip(a, 2, None), np.clip(a, b, 5), np.maximum(a, 3),
            np.isclose(a, b), np.nan_to_num(a), np.round(a / 3, 2), np.where(a > 2, 1.0, 2),
        )  # fmt: skip

    one(apply, (3, 4), (3, 4))
    agree(lambda a: (np.where(a > 2, a, 0.5), np.clip(a, 1, 3)), lambda: [sample("float32")])


def test_sorting():
    def apply(a):
        return (
            np.sort(a), np.sort(a, axis=0), np.sort(a, axis=None), np.argsort(a[:, 0], kind="stable"), np.median(a),
            np.median(a, axis=0), np.take_along_axis(a, np.argsort(a, axis=1, kind="stable"), axis=1),
        )  # fmt: skip

    agree(apply, lambda: [np.random.default_rng(3).permutation(12.0 * np.arange(12)).reshape(3, 4)])


def test_reductions_by_ufuncs():
    def apply(a):
        return np.add.reduce(a), np.maximum.reduce(a, axis=1), np.multiply.reduce(a, axis=None), np.add.accumulate(a)

    one(apply, (3, 4))


def test_questions_about_dtypes_are_constants():
    def apply(a):
        if np.issubdtype(a.dtype, np.floating) and a.dtype == np.result_type(np.float32, np.float64):
            return a * 2
        return a

    with torch._dynamo.config.patch(trace_more=True):  # the registry lists dtype
        one(apply, (3,))


def test_scalar_types_convert():
    def apply(a):
        return np.float32(a.sum()), np.int64(2.7), np.float64(3), np.float32([1, 2]), np.bool_(1), np.int32(a)

    one(apply, (3,))


def test_calls_whose_tensor_operations_may_be_missing():
    """Traced where there are the operations, else NumPy's own: the same results in either case."""

    def apply(a, b, rows):
        return (
            np.einsum("ij,jk->ik", a, b), np.einsum("ij->j", a), np.unique(rows), np.nonzero(a > 3), np.bincount(rows),
            np.searchsorted(np.sort(rows), rows), a[a > 2], np.where(a > 2), np.unique(rows, return_counts=True),
            np.take(a, rows % 3, axis=0), np.flatnonzero(a > 3), np.add.reduce(a[rows % 3], axis=0),
        )  # fmt: skip

    agree(apply, lambda: [sample("float64"), sample("float64", (4, 2), 1), sample("int64", (6,), 2)], frames=None)


def test_writes_by_index_arrays_and_masks():
    def apply(a, rows):
        a[a > 3] = 0
        a[rows] += 1
        a[[0, 1], [1, 2]] = 9
        a[rows, 0] = np.array([5.0, 6.0])
        return a * 2

    agree(apply, lambda: [sample("float64"), np.array([2, 0])], frames=None)
