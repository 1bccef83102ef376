"""Ops of this package that torch knows by another name, with other arguments, or as calls of others."""

import itertools
import math
from dataclasses import dataclass

from .. import _C, _ops
from .._limits import finfo
from . import derivatives, modes

_END = 2**63 - 1


@dataclass
class Call:
    """A call of the operator of this name."""

    base: str
    given: dict  # by parameter


@dataclass
class Done:
    """What other calls have made."""

    value: object


def _named(base, *args, overload="default"):
    return _ops.aten_overload(base, overload)(*args)


def _commuted(base):
    """A number on the left goes to the right."""

    def translate(given, inplace):
        a, b = given["self"], given["other"]
        return Call(base, given if isinstance(a, _C.Tensor) else {**given, "self": b, "other": a})

    return translate


def _sub(given, inplace):
    if isinstance(given["self"], _C.Tensor):
        return Call("sub", given)
    return Call("rsub", {"self": given["other"], "other": given["self"]})


def _div(given, inplace):
    if isinstance(given["self"], _C.Tensor):
        return Call("div", given)
    return Done(given["other"].reciprocal() * given["self"])


def _renamed(base, **names):
    return lambda given, inplace: Call(base, {names.get(name, name): value for name, value in given.items()})


def _along(base):
    """softmax: the dtype is a conversion before."""

    def translate(given, inplace):
        x, dtype = given["self"], given["dtype"]
        x = x if dtype is None else x.to(dtype)
        return Call(base, {"self": x, "dim": given["dim"], "half_to_float": False})

    return translate


def _slice(given, inplace):
    end = _END if given["stop"] is None else given["stop"]
    start = given["start"] or 0
    return Call("slice", {"self": given["self"], "dim": given["dim"], "start": start, "end": end,
                          "step": given["step"]})  # fmt: skip


def _narrow(given, inplace):
    start = given["start"]
    return _slice({**given, "stop": start + given["length"], "step": 1}, inplace)


def _transposed(given, inplace):
    x = given["self"]
    return Call("permute", {"self": x, "dims": list(range(x.dim() - 1, -1, -1))})


def _positions(indices):
    """`x[indices]` as operators have it: None where a whole dimension is taken."""
    items = indices if isinstance(indices, (list, tuple)) else [indices]
    return [None if item is None or isinstance(item, slice) else item for item in items]


def _index(given, inplace):
    return Call("index", {"self": given["self"], "indices": _positions(given["indices"])})


def _index_put(given, inplace):
    return Call("index_put", {**given, "indices": _positions(given["indices"])})


def _reshape(given, inplace):
    x, shape = given["self"], list(given["shape"])
    if _views(x, shape):
        return Done(x.view(shape))
    if -1 in shape:
        known = math.prod(n for n in shape if n != -1)
        shape[shape.index(-1)] = x.numel() // known if known else 0
    return Done(derivatives.call("_unsafe_view", x.clone(memory_format=_C.contiguous_format), shape))


def _views(x, shape):
    """Whether a view shows the tensor in this shape; a shape that does not fit is for view() to refuse."""
    try:
        with modes.none_active():
            _C.empty_strided(x.shape, x.stride(), device="meta").view(shape)
    except RuntimeError:
        return x.is_contiguous()
    return True


def _matmul(given, inplace):
    a, b = given["self"], given["other"]
    ranks = a.dim(), b.dim()
    if ranks == (1, 1):
        return Done(_C.dot(a, b))
    if ranks == (2, 1):
        return Done(_C.mv(a, b))
    if ranks == (2, 2):
        return Done(_C.mm(a, b))
    if ranks == (1, 2):
        return Done(_C.mm(a.unsqueeze(0), b).squeeze(0))
    if ranks[0] >= 3 and ranks[1] <= 2:
        rows = a.reshape([math.prod(a.shape[:-1]), a.shape[-1]])
        if ranks[1] == 1:
            return Done(_C.mv(rows, b).view(list(a.shape[:-1])))
        return Done(derivatives.call("_unsafe_view", _C.mm(rows, b), [*a.shape[:-1], b.shape[-1]]))
    return _matmul_of_batches(a, b)


def _matmul_of_batches(a, b):
    wide_a = a if a.dim() > 1 else a.unsqueeze(0)
    wide_b = b if b.dim() > 1 else b.unsqueeze(1)
    batch = _joint(wide_a.shape[:-2], wide_b.shape[:-2])
    n, k, m = wide_a.shape[-2], wide_a.shape[-1], wide_b.shape[-1]
    count = math.prod(batch)
    left = wide_a.expand([*batch, n, k]).reshape([count, n, k])
    right = wide_b.expand([*batch, wide_b.shape[-2], m]).reshape([count, wide_b.shape[-2], m])
    made = derivatives.call("_unsafe_view", _C.bmm(left, right), [*batch, n, m])
    if a.dim() == 1:
        made = made.squeeze(-2)
    return Done(made.squeeze(-1) if b.dim() == 1 else made)


def _joint(a, b):
    """Two shapes broadcast."""
    pairs = itertools.zip_longest(reversed(a), reversed(b), fillvalue=1)
    return [n if m == 1 else m for n, m in pairs][::-1]


def _norm(given, inplace):
    p = given.get("p", given.get("ord"))
    if given.get("dtype") is not None or not (p is None or p == "fro" or isinstance(p, (int, float))):
        return None
    x = given["self"] if "self" in given else given["x"]
    order = 2 if p in (None, "fro") else p
    return Call("linalg_vector_norm", {"self": x, "ord": order, "dim": given["dim"], "keepdim": given["keepdim"]})


def _spread(base):
    """var, std with `unbiased`."""

    def translate(given, inplace):
        named = {"self": given["self"], "dim": given.get("dim"), "correction": int(given["unbiased"])}
        return Call(base, {**named, "keepdim": given.get("keepdim", False)})

    return translate


def _write_view(given, inplace):
    made = given["self"].clone()
    made.as_strided(given["src"].shape, given["stride"], given["offset"]).copy_(given["src"])
    return Done(made)


def _where(given, inplace):
    if "self" not in given:  # asks for the places
        return None
    tensors = [v for v in (given["self"], given["other"]) if isinstance(v, _C.Tensor)]

    def tensor(value):
        if isinstance(value, _C.Tensor):
            return value
        return _C.tensor(value, dtype=tensors[0].dtype if tensors else None)

    return Call("where", {**given, "self": tensor(given["self"]), "other": tensor(given["other"])})


def _convolution(given, inplace):
    x = given["input"] if "input" in given else given["self"]
    spread = x.dim() - 2
    if spread < 1 or isinstance(given["padding"], str):
        return None

    def whole(value):
        items = list(value) if isinstance(value, (list, tuple)) else [value]
        return items * spread if len(items) == 1 else items

    return Call("convolution", {
        "input": x, "weight": given["weight"], "bias": given.get("bias"), "stride": whole(given["stride"]),
        "padding": whole(given["padding"]), "dilation": whole(given["dilation"]), "transposed": False,
        "output_padding": [0] * spread, "groups": given["groups"],
    })  # fmt: skip


def _max_pool(given, inplace):
    """One dimension is two, the first of which is 1, as torch has it."""
    x, kernel = given["self"], list(given["kernel_size"])
    parts = [kernel, list(given["stride"] or kernel), list(given["padding"]), list(given["dilation"])]
    if len(kernel) == 1:
        front = [[1, *parts[0]], [1, *parts[1]], [0, *parts[2]], [1, *parts[3]]]
        made = _named("max_pool2d_with_indices", x.unsqueeze(-2), *front, given["ceil_mode"])
        return Done([part.squeeze(-2) for part in made])
    return Done(list(_named(f"max_pool{len(kernel)}d_with_indices", x, *parts, given["ceil_mode"])))


def _max_pool_values(given, inplace):
    return Done(_max_pool(given, inplace).value[0])


def _avg_pool(given, inplace):
    spread = len(given["kernel_size"])
    if spread == 1:
        x, *sizes = (given[name] for name in ("self", "kernel_size", "stride", "padding"))
        front = [[first, *size] for first, size in zip((1, 1, 0), sizes)]
        rest = given["ceil_mode"], given["count_include_pad"], given["divisor_override"]
        made = _named("avg_pool2d", x.unsqueeze(-2), *front, *(rest if rest[2] else rest[:2]))
        return Done(made.squeeze(-2))
    return Call(f"avg_pool{spread}d", given)


def _adaptive_avg_pool(given, inplace):
    size = list(given["output_size"])
    if len(size) == 1:
        return Done(_named("_adaptive_avg_pool2d", given["self"].unsqueeze(-2), [1, *size]).squeeze(-2))
    return Call(f"_adaptive_avg_pool{len(size)}d", given)


def _isfinite(given, inplace):
    x = given["self"]
    finite = x.abs() != math.inf
    return Done((x == x) * finite)


def _isclose(given, inplace):
    """As torch puts it together, for operands of one dtype."""
    a, b, nan = given["self"], given["other"], given["equal_nan"]
    if not isinstance(b, _C.Tensor) or not a.is_floating_point() or a.dtype != b.dtype:
        return None
    close = a == b
    if nan:
        return None
    allowed = derivatives.call("mul", b, given["rtol"], overload="Scalar").abs()
    allowed = derivatives.call("add", allowed, given["atol"], overload="Scalar")
    apart = (a - b).abs()
    near = _isfinite({"self": apart}, False).value.bitwise_and_(apart <= allowed)
    return Done(close.bitwise_or_(near))


def _shift(base):
    """The operators `<<` and `>>` with a number on the right."""

    def translate(given, inplace):
        if isinstance(given["other"], _C.Tensor) or inplace or not isinstance(given["self"], _C.Tensor):
            return Call("bitwise_left_shift" if base == "__lshift__" else "bitwise_right_shift", given)
        return Call(base, given)

    return translate


def _outer(given, inplace):
    x, other = given["self"], given["vec2"]
    return Done(x.view([-1, 1]) * other) if x.dim() == other.dim() == 1 else None


def _split_sizes(given, inplace):
    return Call("split_with_sizes", {"self": given["self"], "split_sizes": given["split_size"], "dim": given["dim"]})


def _tile(given, inplace):
    x, dims = given["self"], given["dims"]
    dims = list(dims) if isinstance(dims, (list, tuple)) else [dims]
    return Done(x.repeat([1] * max(0, x.dim() - len(dims)) + dims))


def _diag(given, inplace):
    x = given["self"]
    if x.dim() == 1:
        return Done(x.diag_embed(given["diagonal"]))
    return Done(derivatives.call("diagonal_copy", x, given["diagonal"]))


def _one_hot(given, inplace):
    x = given["self"]
    places = x.new_zeros([*x.shape, given["num_classes"]])
    return Done(places.scatter(-1, x.unsqueeze(-1), 1))


def _layer_norm(given, inplace):
    x, weight, bias = given["input"], given["weight"], given["bias"]
    made = derivatives.call("native_layer_norm", x, list(given["normalized_shape"]), weight, bias, given["eps"])
    return Done(made[0])


def _rms_norm(given, inplace):
    x, weight, eps = given["input"], given["weight"], given["eps"]
    over = list(range(x.dim() - len(given["normalized_shape"]), x.dim()))
    eps = finfo(x.dtype).eps if eps is None else eps
    squares = (x**2).mean(over, keepdim=True)
    recorded = _C.is_grad_enabled() and squares.requires_grad  # a written operand could not be gone back through
    squares = derivatives.call("add" if recorded else "add_", squares, eps, overload="Scalar")
    made = x * squares.rsqrt()
    return Done(made if weight is None else made * weight)


def _selu(given, inplace):
    return Call("elu", {"self": given["self"], "alpha": 1.6732632423543772, "scale": 1.0507009873554805})


def _prelu(given, inplace):
    x, weight = given["self"], given["weight"]
    if x.dim() > 1 and weight.numel() >= 1:
        weight = weight.view([1, weight.numel()] + [1] * (x.dim() - 2))
    return Done(derivatives.call("_prelu_kernel", x, weight))


def _transposed_convolution(given, inplace):
    x = given["input"]
    spread = x.dim() - 2
    if spread < 1:
        return None

    def whole(value):
        items = list(value) if isinstance(value, (list, tuple)) else [value]
        return items * spread if len(items) == 1 else items

    return Call("convolution", {
        "input": x, "weight": given["weight"], "bias": given["bias"], "stride": whole(given["stride"]),
        "padding": whole(given["padding"]), "dilation": whole(given["dilation"]), "transposed": True,
        "output_padding": whole(given["output_padding"]), "groups": given["groups"],
    })  # fmt: skip


def _linear(given, inplace):
    """Rows of the input times the weight; with a bias in one operator."""
    x, weight, bias = given["input"], given["weight"], given["bias"]
    if weight.dim() != 2 or x.dim() < 1:
        return None
    if x.dim() == 2:
        return Done(_C.mm(x, weight.t()) if bias is None else _C.addmm(bias, x, weight.t()))
    if bias is None:
        return Done(x @ weight.t())
    made = _C.addmm(bias, x.reshape([math.prod(x.shape[:-1]), x.shape[-1]]), weight.t())
    return Done(made.view([*x.shape[:-1], weight.shape[0]]))


def _cdist(given, inplace):
    modes_of = {
        "use_mm_for_euclid_dist_if_necessary": None,
        "use_mm_for_euclid_dist": 1,
        "donot_use_mm_for_euclid_dist": 2,
    }
    way = modes_of.get(given["compute_mode"])
    return Done(derivatives.call("_cdist_forward", given["x1"], given["x2"], float(given["p"]), way))


def _cross(given, inplace):
    if given["self"].shape != given["other"].shape:
        return None
    dim = given["dim"]
    if dim is None:
        dim = next((i for i, n in enumerate(given["self"].shape) if n == 3), -1)
    return Call("linalg_cross", {**given, "dim": dim})


def _chunk(given, inplace):
    x, chunks, dim = given["self"], given["chunks"], given["dim"]
    return Done(x.split(max(1, -(-x.shape[dim] // chunks)), dim)) if chunks > 0 and x.dim() and x.shape[dim] else None


def _copied_number(given, inplace):
    return Call("fill", {"self": given["self"], "value": given["other"]})


def _fourier(given, inplace):
    """By which of three factors the sums are multiplied, torch says with a number."""
    x, dims, scale = given["self"], list(given["dim"]), given["scale"]
    count = math.prod(x.shape[d] for d in dims) or 1
    for number, factor in enumerate((1.0, 1 / math.sqrt(count), 1 / count)):
        if math.isclose(scale, factor):
            return Call("_fft_c2c", {"self": x, "dim": dims, "normalization": number, "forward": not given["inverse"]})
    return Done(_named("_fft_c2c", x, dims, 0, not given["inverse"]) * scale)


TRANSLATIONS = {
    "_fourier": _fourier,
    "add": _commuted("add"),
    "mul": _commuted("mul"),
    "sub": _sub,
    "div": _div,
    "convert": _renamed("_to_copy"),
    "copy_to_device": _renamed("_to_copy"),
    "compact": lambda given, inplace: Call("clone", {**given, "memory_format": _C.contiguous_format}),
    "softmax": _along("_softmax"),
    "log_softmax": _along("_log_softmax"),
    "gelu_erf": _renamed("gelu"),
    "gelu_tanh": lambda given, inplace: Call("gelu", {**given, "approximate": "tanh"}),
    "logsigmoid": lambda given, inplace: Done(derivatives.call("log_sigmoid_forward", given["self"])[0]),
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "relu6": lambda given, inplace: Call("hardtanh", {**given, "min_val": 0.0, "max_val": 6.0}),
    "selu": _selu,
    "prelu": _prelu,
    "linear": _linear,
    "conv_transpose1d": _transposed_convolution,
    "conv_transpose2d": _transposed_convolution,
    "conv_transpose3d": _transposed_convolution,
    "cdist": _cdist,
    "cross": _cross,
    "step": _renamed("heaviside"),
    "T": _transposed,
    "mT": lambda given, inplace: Call("transpose", {**given, "dim0": -2, "dim1": -1}),
    "narrow": _narrow,
    "slice": _slice,
    "select_at": _renamed("select", start="index"),
    "index": _index,
    "index_put": _index_put,
    "reshape": _reshape,
    "matmul": _matmul,
    "batched_mm": lambda given, inplace: _matmul_of_batches(given["self"], given["mat2"]),
    "write_view": _write_view,
    "where": _where,
    "norm": _norm,
    "vector_norm": _norm,
    "var.unbiased": _spread("var"),
    "var.unbiased_dim": _spread("var"),
    "std.unbiased": _spread("std"),
    "std.unbiased_dim": _spread("std"),
    "square": lambda given, inplace: Call("pow", {"self": given["self"], "exponent": 2}),
    "conv1d": _convolution,
    "conv2d": _convolution,
    "conv3d": _convolution,
    "convolution": _convolution,
    "max_pool": _max_pool,
    "max_pool_values": _max_pool_values,
    "avg_pool": _avg_pool,
    "adaptive_avg_pool": _adaptive_avg_pool,
    "isfinite": _isfinite,
    "one_hot": _one_hot,
    "trunc_divide": lambda given, inplace: Call("div", {**given, "rounding_mode": "trunc"}),
    "chunk": _chunk,
    "isclose": _isclose,
    "outer": _outer,
    "split.sizes": _split_sizes,
    "tile": _tile,
    "diag": _diag,
    "bitwise_left_shift": _shift("__lshift__"),
    "bitwise_right_shift": _shift("__rshift__"),
    "unique_consecutive": lambda given, inplace: None,  # always three results in torch
    "copy.number": _copied_number,
}
