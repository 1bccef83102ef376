"""A call of every op of the table, as source text on the operands of op_calls: drawn from its signature.

What the signature does not tell (shapes that belong together, names of modes) stands in MAKERS.
"""

import itertools
import json

import minidynamo as torch
from minidynamo import _C

from .op_calls import operands

OPS = {op["name"]: op for op in json.loads(_C.op_table_json())}

# Op -> a call, where the signature alone gives none that runs.
MAKERS = {
    "_lstm_cell": "torch._lstm_cell(c, c[..., :1])",
    "fill": "torch.fill(x, 2)",
    "view_as_real": "torch.view_as_real(torch.complex(x, y))",
    "view_as_complex": "torch.view_as_complex(c[..., :2])",
    "view.dtype": "x.view(torch.int32)",
    "imag": "torch.imag(torch.complex(x, y))",
    "_fourier": "torch._fourier(torch.complex(x, y), (0, 1), False, 1.0)",
    "randint.low": "torch.randint(1, 9, (4, 6))",
    "bmm": "torch.bmm(c, c.transpose(1, 2))",
    "gather": "torch.gather(x, 1, k[:, :2].clamp(0, 5))",
    "one_hot": "torch.nn.functional.one_hot(k, 7)",
    "div.mode": "torch.div(x, y, rounding_mode='floor')",
    "clamp": "torch.clamp(x, -1, 1)",
    "split.sizes": "torch.split(x, [1, 3], 0)",
    "mv": "torch.mv(a, v)",
    "prelu": "torch.prelu(c, w)",
    "quantile": "torch.quantile(x, torch.tensor([0.25, 0.75]), 1)",
    "nanquantile": "torch.nanquantile(n, torch.tensor([0.25, 0.75]), 1)",
    "unfold": "x.unfold(1, 2, 3)",
    "unflatten": "torch.unflatten(x, 1, (2, 3))",
    "roll": "torch.roll(x, (1, -2), (0, 1))",
    "addmv": "torch.addmv(v, a, w)",
    "baddbmm": "torch.baddbmm(c, c[:, :, :3], c)",
    "addbmm": "torch.addbmm(a, c, c.transpose(1, 2))",
    "einsum": "torch.einsum('ij,kj->ik', x, y)",
    "linalg_matrix_norm": "torch.linalg.matrix_norm(x, 1)",
    "layer_norm": "torch.layer_norm(x, (6,), x[0], y[1], 0.5)",
    "rms_norm": "torch.rms_norm(x, (6,), x[0], 0.5)",
    "conv2d": "torch.nn.functional.conv2d(c[None], c[None, :, :2, :2])",
    "conv2d.padding": "torch.nn.functional.conv2d(c[None], c[None, :, :2, :2], padding='same')",
    "conv3d": "torch.nn.functional.conv3d(c[None, None], c[None, None, :, :2, :2])",
    "conv3d.padding": "torch.nn.functional.conv3d(c[None, None], c[None, None, :, :2, :2], padding='same')",
    "conv_transpose1d": "torch.nn.functional.conv_transpose1d(c, c.transpose(0, 1)[:, :, :2])",
    "conv_transpose2d": "torch.nn.functional.conv_transpose2d(c[None], c[:, None, :2, :2])",
    "max_pool1d": "torch.max_pool1d(c, 2)",
    "max_pool2d": "torch.max_pool2d(c, 2)",
    "max_pool3d": "torch.max_pool3d(c[None], 2)",
    "max_pool1d_with_indices": "torch.nn.functional.max_pool1d_with_indices(c, 2)",
    "max_pool2d_with_indices": "torch.nn.functional.max_pool2d_with_indices(c, 2)",
    "max_pool3d_with_indices": "torch.nn.functional.max_pool3d_with_indices(c[None], 2)",
    "avg_pool1d": "torch.nn.functional.avg_pool1d(c, 2)",
    "avg_pool2d": "torch.nn.functional.avg_pool2d(c, 2)",
    "avg_pool3d": "torch.nn.functional.avg_pool3d(c[None], 2)",
    "adaptive_avg_pool1d": "torch.nn.functional.adaptive_avg_pool1d(c, 2)",
    "adaptive_max_pool1d": "torch.adaptive_max_pool1d(c, 2)",
    "interpolate": "torch.nn.functional.interpolate(c, size=5)",
    "im2col": "torch.nn.functional.unfold(c[None], 2)",
    "col2im": "torch.nn.functional.fold(x[None], (3, 4), 2)",
    "bernoulli": "torch.bernoulli(p / 10)",
    "bernoulli.tensor": "x.bernoulli_(p / 10)",
    "randint_like.low": "torch.randint_like(x, 1, 9)",
    "random.from": "x.random_(1, 9)",
    "index_put": "torch.index_put(x, (k[0] % 4, k[1] % 6), s)",
    "take": "torch.take(x, k)",
    "put": "x.put_(k + 5, y[:3, :4])",
    "index_select": "torch.index_select(x, 0, k[0] % 4)",
    "index_add": "torch.index_add(x, 0, k[0] % 4, y)",
    "index_copy": "torch.index_copy(x, 0, k[0].argsort(), y)",
    "index_fill": "torch.index_fill(x, 0, k[0] % 4, 2)",
    "index_fill.tensor": "torch.index_fill(x, 0, k[0] % 4, s)",
    "scatter": "torch.scatter(x, 1, k[:, :2].clamp(0, 5), y)",
    "scatter.value": "torch.scatter(x, 1, k[:, :2].clamp(0, 5), 2)",
    "scatter.reduce": "torch.scatter(x, 1, k[:, :2].clamp(0, 5), y, reduce='add')",
    "scatter.value_reduce": "torch.scatter(x, 1, k[:, :2].clamp(0, 5), 2, reduce='multiply')",
    "scatter_add": "torch.scatter_add(x, 1, k[:, :2].clamp(0, 5), y)",
    "scatter_reduce": "torch.scatter_reduce(x, 1, k[:, :2].clamp(0, 5), y, 'sum')",
    "masked_select": "torch.masked_select(x, x > 0)",
    "masked_scatter": "torch.masked_scatter(x, x > 0, y)",
    "nonzero.tuple": "torch.nonzero(m, as_tuple=True)",
    "where.indices": "torch.where(m)",
    "unique": "torch.unique(k)",
    "unique.inverse": "torch.unique(k, return_inverse=True)",
    "unique.counts": "torch.unique(k, return_counts=True)",
    "unique.both": "torch.unique(k, return_inverse=True, return_counts=True)",
    "unique_consecutive": "torch.unique_consecutive(k % 2)",
    "unique_consecutive.inverse": "torch.unique_consecutive(k % 2, return_inverse=True)",
    "unique_consecutive.counts": "torch.unique_consecutive(k % 2, return_counts=True)",
    "unique_consecutive.both": "torch.unique_consecutive(k % 2, return_inverse=True, return_counts=True)",
    "bincount": "torch.bincount(k.flatten())",
    "repeat_interleave.repeats": "torch.repeat_interleave(k[0])",
    "repeat_interleave.tensor": "torch.repeat_interleave(x, k[0], 0)",
    "searchsorted": "torch.searchsorted(p, x)",
    "searchsorted.scalar": "torch.searchsorted(p[0], 1.5)",
    "bucketize": "torch.bucketize(x, p[0])",
    "bucketize.scalar": "torch.bucketize(1.5, p[0])",
}

# Operands to try for the first tensor, and what goes with each as the second and third.
PARTNERS = {"x": "yp", "i": "kk", "m": "mm", "v": "wv", "c": "cc", "a": "aa"}
BY_NAME = {"size": "(4, 6)", "sizes": "(4, 6)", "shape": "(4, 6)", "dims": "(0, 1)", "dim": "0", "stride": "(6, 1)"}
BY_TYPE = {
    "Scalar": "2", "float": "0.5", "int": "1", "int[]": "(0, 1)", "bool": "True", "dtype": "torch.float64",
    "device": "'cpu'", "memory_format": "torch.contiguous_format", "Index": "0", "str": "'sum'", "True": "True",
    "False": "False",
}  # fmt: skip
TENSORS = ("Tensor", "Operand")


def is_public(op):
    return bool(op["function"] or op["method"] or op["inplace"] or op["property"] or op["also"])


def _argument(param, tensors):
    kind = param["type"].removesuffix("?")
    if kind in TENSORS:
        return next(tensors)
    if kind == "Tensor[]":
        return f"[{next(tensors)}, {next(tensors)}]"
    if kind == "Tensor...":
        return f"{next(tensors)}, {next(tensors)}"
    return BY_NAME.get(param["name"]) or BY_TYPE.get(kind, "None")


def _spelled(op, arguments, keywords):
    name = op["public_name"]
    if not op["function"] and op["also"]:
        name = op["also"].split()[0]
    method = name.startswith("Tensor.") or (not op["function"] and not op["also"])
    given = arguments + [f"{k}={v}" for k, v in keywords.items()]
    if not method:
        return f"torch.{name}({', '.join(given)})"
    name = name.removeprefix("Tensor.")
    if op["property"]:
        return f"{arguments[0]}.{name}"
    suffix = "" if op["method"] or op["also"] else "_"
    return f"{arguments[0]}.{name}{suffix}({', '.join(given[1:])})"


def _drawn(op):
    """Candidates, the plainest operands first."""
    for first, others in PARTNERS.items():
        tensors = itertools.chain(first + others, itertools.repeat(others[-1]))
        parameters = [p for p in op["params"] if not p["type"].startswith("Count")]  # those the compiler fills
        required = [p for p in parameters if "default" not in p]
        arguments = [_argument(p, tensors) for p in required if not p["keyword_only"]]
        keywords = {p["name"]: _argument(p, tensors) for p in required if p["keyword_only"]}
        # An overload is told by what the plain form does not have.
        plain = {p["name"] for p in OPS.get(op["public_name"], op)["params"]}
        own = {p["name"]: _argument(p, tensors) for p in parameters if "default" in p and p["name"] not in plain}
        if own:
            yield _spelled(op, arguments, keywords | own)
        yield _spelled(op, arguments, keywords)


def function_of(call):
    """The call as a function of the operands by name."""
    return eval(f"lambda {', '.join(sorted(operands()))}: {call}", {"torch": torch})


def runs(call):
    try:
        function_of(call)(**operands())
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AttributeError, SyntaxError):
        return False
    return True


def call_of(name):
    """A call of the op, or None if neither MAKERS nor its signature gives one that runs."""
    if name in MAKERS:
        return MAKERS[name]
    return next(filter(runs, _drawn(OPS[name])), None)
