"""LAPACK's routines for batches of matrices, from the library NumPy's own linear algebra is linked to.

NumPy shows the results of few routines and of none its `info`. Arrays are (..., m, n) in C's order, and come back so;
`info` is int32 of the batch's sizes.
"""

import ctypes
import functools

import numpy as np

_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_SYMBOLS = (("scipy_{}_64_", np.int64), ("{}_64_", np.int64), ("scipy_{}_", np.int32), ("{}_", np.int32))


@functools.cache
def _library():
    return ctypes.CDLL(np.linalg._umath_linalg.__file__)


@functools.cache
def _routine(name):
    """(function, dtype of its integers)."""
    for pattern, integer in _SYMBOLS:
        found = getattr(_library(), pattern.format(name), None)
        if found is not None:
            found.restype = None
            return found, np.dtype(integer)
    raise NotImplementedError(f"the LAPACK that this NumPy is linked to has no routine {name}")


class _Call:
    """Calls of one routine: letters, integers, numbers and arrays, in the order of its parameters."""

    def __init__(self, name, dtype):
        self.dtype = np.dtype(dtype)
        if self.dtype.name not in _PREFIXES:
            raise RuntimeError(f"matrices of {self.dtype} have no LAPACK routine here")
        self.real = np.empty(0, self.dtype).real.dtype
        self.function, self.integer = _routine(_PREFIXES[self.dtype.name] + name)
        self.info = np.zeros(1, self.integer)

    def __call__(self, *arguments):
        """Runs it; its last parameter, info, is added. Returns info."""
        kept, pointers, letters = [], [], 0
        for argument in (*arguments, self.info):
            if isinstance(argument, str):
                pointers.append(ctypes.c_char_p(argument.encode()))
                letters += 1
                continue
            if isinstance(argument, int):
                argument = np.array([argument], self.integer)
            elif isinstance(argument, float):
                argument = np.array([argument], self.real)
            kept.append(argument)
            pointers.append(ctypes.c_void_p(argument.ctypes.data))
        pointers += [ctypes.c_size_t(1)] * letters  # the lengths of the letters, which Fortran's compilers add
        self.function(*pointers)
        return int(self.info[0])

    def with_workspace(self, *arguments, reals=0):
        """Runs it with the workspace it asks for, between `arguments` and info. Routines for complex matrices may want
        a second one of so many real numbers."""
        more = [np.zeros(max(1, reals), self.real)] if reals and self.is_complex() else []
        work = np.zeros(1, self.dtype)
        self(*arguments, work, -1, *more)
        size = max(1, int(work[0].real))
        return self(*arguments, np.empty(size, self.dtype), size, *more)

    def is_complex(self):
        return self.dtype.kind == "c"


def _columns(a):
    """A copy whose matrices lie column by column: (batch, n, m) in memory for (..., m, n)."""
    turned = np.array(a.swapaxes(-1, -2), order="C")
    return turned.reshape(_count(a), *turned.shape[-2:])


def _count(a):
    return int(np.prod(a.shape[:-2], dtype=np.int64))


def _rows(columns, batch):
    """The matrices of _columns() again, (..., m, n)."""
    return np.ascontiguousarray(columns.swapaxes(-1, -2)).reshape(*batch, columns.shape[-1], columns.shape[-2])


def _infos(a):
    return np.zeros(_count(a), np.int32)


def lu(a):
    """(L and U in one matrix, pivots counted from 1, info) of (..., m, n): info is the first zero pivot."""
    *batch, m, n = a.shape
    call, columns, info = _Call("getrf", a.dtype), _columns(a), _infos(a)
    pivots = np.zeros((len(columns), min(m, n)), call.integer)
    for i in range(len(columns) if m and n else 0):
        info[i] = call(m, n, columns[i], m, pivots[i])
    pivots = pivots.astype(np.int32).reshape(*batch, min(m, n))
    return _rows(columns, batch), pivots, info.reshape(batch)


def lu_solve(factors, pivots, b, transposed=False):
    """X of A X = B, or A^T X = B, by lu() of A; inf and NaN where a pivot is 0."""
    *batch, n, k = b.shape
    call, left, right = _Call("getrs", b.dtype), _columns(factors), _columns(b)
    pivots = pivots.astype(call.integer).reshape(len(left), n)
    for i in range(len(right) if n and k else 0):
        call("T" if transposed else "N", n, k, left[i], n, pivots[i], right[i], n)
    return _rows(right, batch)


def cholesky(a):
    """(lower factors, info) by the lower triangles: info is the order of the first minor that is not positive."""
    *batch, n, _ = a.shape
    call, columns, info = _Call("potrf", a.dtype), _columns(a), _infos(a)
    for i in range(len(columns) if n else 0):
        info[i] = call("L", n, columns[i], n)
    factors = np.tril(_rows(columns, batch))
    # OpenBLAS says nothing of NaN and infinities.
    broken = ~np.isfinite(factors).all(-1).reshape(len(columns), n)
    info = np.where((info == 0) & broken.any(-1), broken.argmax(-1) + 1, info) if n else info
    return factors, info.astype(np.int32).reshape(batch)


def ldl(a, hermitian):
    """(L and D in one lower triangle, pivots, info) of symmetric or Hermitian matrices, by Bunch and Kaufman."""
    *batch, n, _ = a.shape
    call, columns, info = (
        _Call("hetrf" if hermitian and a.dtype.kind == "c" else "sytrf", a.dtype),
        _columns(a),
        _infos(a),
    )
    pivots = np.zeros((len(columns), n), call.integer)
    for i in range(len(columns) if n else 0):
        info[i] = call.with_workspace("L", n, columns[i], n, pivots[i])
    factors = np.tril(_rows(columns, batch))
    return factors, pivots.astype(np.int32).reshape(*batch, n), info.reshape(batch)


def ldl_solve(factors, pivots, b, hermitian):
    """X of A X = B by ldl() of A."""
    *batch, n, k = b.shape
    name = "hetrs" if hermitian and b.dtype.kind == "c" else "sytrs"
    call, left, right = _Call(name, b.dtype), _columns(factors), _columns(b)
    pivots = pivots.astype(call.integer).reshape(len(left), n)
    for i in range(len(right) if n and k else 0):
        call("L", n, k, left[i], n, pivots[i], right[i], n)
    return _rows(right, batch)


def qr(a):
    """(R above, Householder's vectors below the diagonal, their factors)."""
    *batch, m, n = a.shape
    call, columns = _Call("geqrf", a.dtype), _columns(a)
    factors = np.zeros((len(columns), min(m, n)), a.dtype)
    for i in range(len(columns) if m and n else 0):
        call.with_workspace(m, n, columns[i], m, factors[i])
    return _rows(columns, batch), factors.reshape(*batch, min(m, n))


def least_squares(a, b, rcond, driver):
    """(X, squared residuals by columns, ranks, singular values, info) by "gels", "gelsy", "gelsd" or "gelss".

    gels takes the ranks to be full and says nothing of them; only the last two have singular values.
    """
    *batch, m, n = a.shape
    k, rows = b.shape[-1], max(m, n)
    call, left, info = _Call(driver, a.dtype), _columns(a), _infos(a)
    right = np.zeros((len(left), k, rows), a.dtype)
    right[..., :m] = _columns(b)
    ranks = np.zeros(len(left), np.int64)
    values = np.zeros((len(left), min(m, n)), call.real)
    for i in range(len(left) if m and n and k else 0):
        rank = np.zeros(1, call.integer)
        operands = (m, n, k, left[i], m, right[i], rows)
        if driver == "gels":
            info[i] = call.with_workspace("N", *operands)
        elif driver == "gelsy":
            info[i] = call.with_workspace(*operands, np.zeros(n, call.integer), float(rcond), rank, reals=2 * n)
        elif driver == "gelss":
            info[i] = call.with_workspace(*operands, values[i], float(rcond), rank, reals=5 * min(m, n))
        else:
            info[i] = _divide_and_conquer(call, operands, values[i], rcond, rank)
        ranks[i] = rank[0]
    residuals = np.square(np.abs(right[..., n:m])).sum(-1) if m > n else np.zeros((len(left), 0), call.real)
    solution = _rows(right[..., :n], batch)
    return (
        solution,
        residuals.reshape(*batch, residuals.shape[-1]),
        ranks.reshape(batch),
        values.reshape(*batch, values.shape[-1]),
        info.reshape(batch),
    )


def _divide_and_conquer(call, operands, values, rcond, rank):
    """gelsd, whose workspaces of real numbers, for complex matrices, and of integers come after that of numbers."""
    work, reals, integers = np.zeros(1, call.dtype), np.zeros(1, call.real), np.zeros(1, call.integer)
    call(*operands, values, float(rcond), rank, work, -1, *([reals] if call.is_complex() else []), integers)
    work, integers = np.empty(max(1, int(work[0].real)), call.dtype), np.zeros(max(1, int(integers[0])), call.integer)
    more = [np.empty(max(1, int(reals[0])), call.real)] if call.is_complex() else []
    return call(*operands, values, float(rcond), rank, work, len(work), *more, integers)
