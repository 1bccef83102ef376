"""NumPy on tensors: what the tracer follows where a compiled function calls NumPy.

The tables below name a traced function for each of NumPy's, with the constants that come first in its call. What a
traced function does not cover it refuses with an exception; NumPy itself then does the work, outside the graph. Results
have NumPy's dtypes (its own promotion rules are asked, see facts.py); values are those of the tensor operations. Of
floating-point problems there are no warnings.
"""

import numpy as np

from . import creation, elementwise, indexing, methods, order, products, reductions, shaping

# NumPy's callables. An empty row: of constants NumPy itself gives the answer while tracing.
FUNCTIONS = {
    np.zeros: (creation.filled, 0),
    np.ones: (creation.filled, 1),
    np.empty: (creation.filled, None),
    np.full: (creation.full,),
    np.zeros_like: (creation.filled_like, 0),
    np.ones_like: (creation.filled_like, 1),
    np.empty_like: (creation.filled_like, None),
    np.full_like: (creation.full_like,),
    np.arange: (creation.arange,),
    np.linspace: (creation.linspace,),
    np.eye: (creation.eye,),
    np.identity: (creation.identity,),
    np.tri: (creation.tri,),
    np.array: (creation.array,),
    np.asarray: (creation.asarray,),
    np.asanyarray: (creation.asarray,),
    np.ascontiguousarray: (creation.ascontiguousarray,),
    np.copy: (creation.copied,),
    np.where: (elementwise.where,),
    np.clip: (elementwise.clip,),
    np.round: (elementwise.around,),
    np.around: (elementwise.around,),
    np.nan_to_num: (elementwise.nan_to_num,),
    np.isclose: (elementwise.isclose,),
    np.sum: (reductions.folded, "sum"),
    np.prod: (reductions.folded, "prod"),
    np.max: (reductions.extremum, "max"),
    np.amax: (reductions.extremum, "max"),
    np.min: (reductions.extremum, "min"),
    np.amin: (reductions.extremum, "min"),
    np.all: (reductions.tested, "all"),
    np.any: (reductions.tested, "any"),
    np.mean: (reductions.mean,),
    np.average: (reductions.average,),
    np.var: (reductions.variance, False),
    np.std: (reductions.variance, True),
    np.argmax: (reductions.position, "argmax"),
    np.argmin: (reductions.position, "argmin"),
    np.cumsum: (reductions.cumulative, "cumsum"),
    np.cumprod: (reductions.cumulative, "cumprod"),
    np.count_nonzero: (reductions.count_nonzero,),
    np.ptp: (reductions.ptp,),
    np.nansum: (reductions.nansum,),
    np.nanmean: (reductions.nanmean,),
    np.diff: (reductions.difference,),
    np.reshape: (shaping.reshape,),
    np.ravel: (shaping.ravel,),
    np.transpose: (shaping.transpose,),
    np.permute_dims: (shaping.transpose,),
    np.matrix_transpose: (shaping.matrix_transpose,),
    np.swapaxes: (shaping.swapaxes,),
    np.moveaxis: (shaping.moveaxis,),
    np.expand_dims: (shaping.expand_dims,),
    np.squeeze: (shaping.squeeze,),
    np.atleast_1d: (shaping.at_least, 1),
    np.atleast_2d: (shaping.at_least, 2),
    np.atleast_3d: (shaping.at_least, 3),
    np.concatenate: (shaping.concatenate,),
    np.stack: (shaping.stack,),
    np.vstack: (shaping.stacked, "vstack"),
    np.hstack: (shaping.stacked, "hstack"),
    np.dstack: (shaping.stacked, "dstack"),
    np.column_stack: (shaping.stacked, "column_stack"),
    np.split: (shaping.split, True),
    np.array_split: (shaping.split, False),
    np.vsplit: (shaping.split_along, 0),
    np.hsplit: (shaping.split_along, 1),
    np.dsplit: (shaping.split_along, 2),
    np.broadcast_to: (shaping.broadcast_to,),
    np.broadcast_arrays: (shaping.broadcast_arrays,),
    np.repeat: (shaping.repeat,),
    np.tile: (shaping.tile,),
    np.roll: (shaping.roll,),
    np.flip: (indexing.flip,),
    np.flipud: (indexing.flip_rows,),
    np.fliplr: (indexing.flip_columns,),
    np.tril: (shaping.triangle, False),
    np.triu: (shaping.triangle, True),
    np.diag: (shaping.diag,),
    np.diagonal: (shaping.diagonal,),
    np.trace: (shaping.trace,),
    np.meshgrid: (shaping.meshgrid,),
    np.shape: (shaping.shape_of,),
    np.ndim: (shaping.ndim_of,),
    np.size: (shaping.size_of,),
    np.matmul: (products.matmul,),
    np.dot: (products.dot,),
    np.inner: (products.inner,),
    np.outer: (products.outer,),
    np.vdot: (products.vdot,),
    np.tensordot: (products.tensordot,),
    np.kron: (products.kron,),
    np.einsum: (products.einsum,),
    np.linalg.norm: (products.norm,),
    np.sort: (order.sort,),
    np.argsort: (order.argsort,),
    np.median: (order.median,),
    np.take: (order.take,),
    np.take_along_axis: (order.take_along_axis,),
    np.unique: (order.unique,),
    np.nonzero: (order.nonzero,),
    np.bincount: (order.bincount,),
    np.searchsorted: (order.searchsorted,),
    np.dtype: (),
    np.issubdtype: (),
    np.result_type: (),
    np.promote_types: (),
    np.can_cast: (),
}
for _name in elementwise.OPERATIONS:
    if hasattr(np, _name) and getattr(np, _name) not in FUNCTIONS:
        FUNCTIONS[getattr(np, _name)] = (elementwise.elementwise, _name)
for _name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"):
    FUNCTIONS[np.dtype(_name).type] = (creation.scalar_type, _name)

# (ufunc, its method)
UFUNC_METHODS = {
    **{(name, "reduce"): (reductions.ufunc_reduce, name) for name in ("add", "multiply", "maximum", "minimum")},
    **{(name, "reduce"): (reductions.ufunc_reduce, name) for name in ("logical_and", "logical_or")},
    **{(name, "accumulate"): (reductions.ufunc_accumulate, name) for name in ("add", "multiply")},
}

ATTRIBUTES = methods.ATTRIBUTES

# Methods of arrays and scalars; the array comes after the constants.
METHODS = {
    "__getitem__": (indexing.get_item,),
    "__setitem__": (indexing.set_item,),
    "__matmul__": (products.matmul,),
    "__rmatmul__": (products.right_matmul,),
    "astype": (methods.astype,),
    "copy": (methods.copied,),
    "fill": (methods.fill,),
    "flatten": (methods.flatten,),
    "reshape": (methods.reshaped,),
    "transpose": (methods.transposed_by,),
    "sort": (order.sort_inplace,),
    "round": FUNCTIONS[np.round],
    **{
        name: FUNCTIONS[getattr(np, name)]
        for name in (
            "all any argmax argmin argsort clip cumprod cumsum diagonal dot max mean min nonzero prod ravel "
            "repeat searchsorted squeeze std sum swapaxes take trace var"
        ).split()
    },
    **{f"__{short}__": (elementwise.operator, name) for short, name in elementwise.BINARY_OPERATORS.items()},
    **{f"__r{short}__": (elementwise.reflected, name) for short, name in elementwise.BINARY_OPERATORS.items()},
    **{f"__i{short}__": (elementwise.inplace, name) for short, name in elementwise.BINARY_OPERATORS.items()},
    **{f"__{short}__": (elementwise.operator, name) for short, name in elementwise.COMPARISONS.items()},
    **{f"__{short}__": (elementwise.unary, name) for short, name in elementwise.UNARY_OPERATORS.items()},
}
