"""Functions written in Python here that are calls of certain operators in torch, one rule each, by their names.

A rule takes the arguments of the function, by its parameters, and gives what the operators' calls made of them;
NotImplemented: the function's own calls are shown.
"""

import functools
import inspect

from .. import _C
from .derivatives import call, opens, recorded

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


@functools.cache
def _rules():
    """{function: (rule, signature)}"""
    from ..nn import functional

    found = {}
    for name, rule in RULES.items():
        function = getattr(functional, name)
        found[function] = rule, inspect.signature(function)
    return found


# Functions that are one operator of the same name and arguments.
_SAME = set(
    """
    slice_scatter select_scatter diagonal_scatter index_reduce isin poisson renorm cholesky_solve polygamma
    """.split()
)


@functools.cache
def _signature(function):
    return inspect.signature(function)


def answer(function, args, kwargs):
    """What the rule of the function gives; NotImplemented if it has none, or the arguments are not for it."""
    row = None if opens() else _rules().get(function)
    if row is None and (opens() or function.__name__ not in _SAME):
        return NotImplemented
    rule, signature = row or (functools.partial(_same, function.__name__), _signature(function))
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return NotImplemented
    bound.apply_defaults()
    return rule(bound.arguments)


def _same(base, given):
    from .dispatch import chosen

    found = chosen(base, given)
    return NotImplemented if found is None else recorded(*found)


def _reduction(given):
    """By number; None where older arguments decide or the word is unknown."""
    if given.get("size_average") is not None or given.get("reduce") is not None:
        return None
    return _REDUCTIONS.get(given["reduction"])


def _loss(base, *further):
    """A loss of input and target with parameters of this package's names in torch's order."""

    def rule(given):
        reduction = _reduction(given)
        x, target = given["input"], given["target"]
        fits = reduction is not None and all(isinstance(v, _C.Tensor) for v in (x, target)) and x.shape == target.shape
        if not fits or given.get("weight") is not None:
            return NotImplemented
        if x.dtype != target.dtype:
            return NotImplemented
        return call(base, x, target, reduction, *(given[name] for name in further))

    return rule


def _entropy(base, *further):
    def rule(given):
        reduction = _reduction(given)
        x, target = given["input"], given["target"]
        if reduction is None or x.shape != target.shape:
            return NotImplemented
        return call(base, x, target, given["weight"], *(given[name] for name in further), reduction)

    return rule


def _nll_loss(given):
    reduction = _reduction(given)
    x, target = given["input"], given["target"]
    if reduction is None or x.dim() < 1 or target.dim() != max(x.dim() - 1, 0) or target.dtype is not _C.int64:
        return NotImplemented
    if x.dim() <= 2:
        base = "nll_loss_forward"
    elif x.dim() == 4:
        base = "nll_loss2d_forward"
    else:
        return NotImplemented
    return call(base, x, target, given["weight"], reduction, given["ignore_index"])[0]


def _cross_entropy(given):
    x, target = given["input"], given["target"]
    if given["label_smoothing"] or target.is_floating_point() or x.dim() not in (1, 2, 4) or _reduction(given) is None:
        return NotImplemented
    return _nll_loss({**given, "input": x.log_softmax(0 if x.dim() == 1 else 1)})


def _group_norm(given):
    x, groups = given["input"], given["num_groups"]
    if x.dim() < 2 or not isinstance(groups, int) or groups < 1 or x.shape[1] % groups:
        return NotImplemented
    rest = 1
    for size in x.shape[2:]:
        rest *= size
    weight, bias, eps = given["weight"], given["bias"], given["eps"]
    return call("native_group_norm", x, weight, bias, x.shape[0], x.shape[1], rest, groups, eps)[0]


def _batch_norm(given):
    x, training = given["input"], given["training"]
    mean, var = given["running_mean"], given["running_var"]
    if x.dim() < 2 or (not training and (mean is None or var is None)) or given["momentum"] is None:
        return NotImplemented
    if training and x.numel() == (x.shape[1] if x.dim() > 1 else 0):
        return NotImplemented  # refused
    _C.empty([0], dtype=_C.uint8)  # torch's memory for kernels that keep something
    weight, bias = given["weight"], given["bias"]
    return call("native_batch_norm", x, weight, bias, mean, var, training, given["momentum"], given["eps"])[0]


def _embedding(given):
    ids, weight = given["input"], given["weight"]
    plain = given["max_norm"] is None and ids.dtype in (_C.int64, _C.int32) and weight.dim() == 2
    if not plain or given["sparse"]:
        return NotImplemented
    at = given["padding_idx"]
    at = -1 if at is None else at % weight.shape[0]
    return call("embedding", weight, ids, at, given["scale_grad_by_freq"], given["sparse"])


def _pad(given):
    x, sizes, mode = given["input"], list(given["pad"]), given["mode"]
    if not all(isinstance(size, int) for size in sizes) or len(sizes) % 2 or len(sizes) > 2 * x.dim():
        return NotImplemented
    if mode == "constant":
        return call("constant_pad_nd", x, sizes, given["value"] or 0)
    spread = len(sizes) // 2
    base = {"reflect": "reflection_pad", "replicate": "replication_pad"}.get(mode)
    if base is None or not 1 <= spread <= 3 or x.dim() not in (spread + 1, spread + 2):
        return NotImplemented
    return call(f"{base}{spread}d", x, sizes)


def _resampled(given):
    x, mode, corners = given["input"], given["mode"], given["align_corners"]
    spread = x.dim() - 2
    base = {
        ("nearest", 1): "upsample_nearest1d", ("nearest", 2): "upsample_nearest2d",
        ("nearest", 3): "upsample_nearest3d", ("linear", 1): "upsample_linear1d",
        ("bilinear", 2): "upsample_bilinear2d", ("bicubic", 2): "upsample_bicubic2d",
        ("trilinear", 3): "upsample_trilinear3d",
    }.get((mode, spread))  # fmt: skip
    if base is None or given.get("antialias") or given["recompute_scale_factor"]:
        return NotImplemented
    size, factor = given["size"], given["scale_factor"]
    if (size is None) == (factor is None) or (mode == "nearest" and corners is not None):
        return NotImplemented
    if size is None:
        factors = [float(f) for f in (factor if isinstance(factor, (list, tuple)) else [factor] * spread)]
        sizes = [int(n * f) for n, f in zip(x.shape[2:], factors)]
    else:
        sizes = [int(n) for n in (size if isinstance(size, (list, tuple)) else [size] * spread)]
        factors = []
    if len(sizes) != spread:
        return NotImplemented
    corners = [] if mode == "nearest" else [bool(corners)]
    return call(base, x, sizes, *corners, *factors)


def _attention(given):
    q, k, v, mask = (given[name] for name in ("query", "key", "value", "attn_mask"))
    dropout, causal, scale = given["dropout_p"], given["is_causal"], given["scale"]
    usual = q.dim() == 4 and k.dim() == 4 and v.dim() == 4 and q.dtype == k.dtype == v.dtype
    if not usual or dropout or given["enable_gqa"] or not (q.shape[-1] == k.shape[-1] == v.shape[-1]):
        return NotImplemented
    named = {} if scale is None else {"scale": scale}
    if mask is not None:
        if causal or (mask.requires_grad and _C.is_grad_enabled()):
            return NotImplemented
        if mask.dtype is _C.bool:
            hidden = call("scalar_tensor", float("-inf"), dtype=q.dtype, device=q.device)
            shown = call("scalar_tensor", 0.0, dtype=q.dtype, layout=q.layout, device=q.device)
            mask = _C.where(mask, shown, hidden)
        named = {"attn_mask": mask, **named}
    return call("_scaled_dot_product_flash_attention_for_cpu", q, k, v, dropout, causal, **named)[0]


def _dropped(noise_of):
    """A noise of zeros and of 1 / (1 - p), times the input."""

    def rule(given):
        x, p = given["input"], given["p"]
        if not given["training"] or not 0 < p < 1 or given["inplace"] or not x.is_floating_point() or not x.numel():
            return NotImplemented
        noise = noise_of(x)
        if noise is None:
            return NotImplemented
        noise = call("bernoulli_", noise, 1 - p, overload="float")
        return x * call("div_", noise, 1 - p, overload="Scalar")

    return rule


def _noise_of_channels(spread):
    def noise(x):
        if x.dim() != spread + 2:
            return None
        return x.new_empty([*x.shape[:2], *[1] * spread])

    return noise


def _normalize(given):
    x, p, dim = given["input"], given["p"], given["dim"]
    if given["out"] is not None:
        return NotImplemented
    return x / x.norm(p, dim, keepdim=True).clamp_min(given["eps"]).expand_as(x)


def _one_hot(given):
    ids, count = given["tensor" if "tensor" in given else "input"], given["num_classes"]
    if ids.dtype is not _C.int64 or ids.numel() == 0:
        return NotImplemented
    low, high = (bound.item() for bound in ids.aminmax())
    if low < 0 or (count != -1 and count <= high):
        return NotImplemented  # refused
    count = high + 1 if count == -1 else count
    places = call("zeros", [*ids.shape, count], dtype=ids.dtype, layout=ids.layout, device=ids.device)
    return call("scatter_", places, -1, ids.unsqueeze(-1), 1, overload="value")


def _largest_in_windows(given):
    x, size = given["input"], given["output_size"]
    sizes = list(size) if isinstance(size, (list, tuple)) else [size, size]
    if x.dim() not in (3, 4) or len(sizes) != 2:
        return NotImplemented
    sizes = [n if wanted is None else wanted for wanted, n in zip(sizes, x.shape[-2:])]
    made = call("adaptive_max_pool2d", x, sizes)
    return tuple(made) if given["return_indices"] else made[0]


def _sampled(given):
    x, grid = given["input"], given["grid"]
    mode = {"bilinear": 0, "nearest": 1, "bicubic": 2}.get(given["mode"])
    padding = {"zeros": 0, "border": 1, "reflection": 2}.get(given["padding_mode"])
    if mode is None or padding is None or x.dim() not in (4, 5) or (x.dim() == 5 and mode == 2):
        return NotImplemented
    return call(f"grid_sampler_{x.dim() - 2}d", x, grid, mode, padding, bool(given["align_corners"]))


def _affine_grid(given):
    return call("affine_grid_generator", given["theta"], list(given["size"]), bool(given["align_corners"]))


def _multi_margin_loss(given):
    reduction = _reduction(given)
    if reduction is None:
        return NotImplemented
    return call("multi_margin_loss", given["input"], given["target"], given["p"], given["margin"], given["weight"],
                reduction)  # fmt: skip


def _bilinear(given):
    a, b, weight, bias = (given[name] for name in ("input1", "input2", "weight", "bias"))
    if a.dim() < 1 or a.dim() != b.dim() or a.shape[:-1] != b.shape[:-1] or weight.dim() != 3:
        return NotImplemented
    made = call("_trilinear", a.reshape([-1, a.shape[-1]]), weight, b.reshape([-1, b.shape[-1]]), [1, 3], [0], [1, 2],
                [2, 3])  # fmt: skip
    made = made.reshape([*a.shape[:-1], weight.shape[0]])
    return made if bias is None else made + bias


def _pdist(given):
    return call("_pdist_forward", given["input"].contiguous(), float(given["p"]))


def _instance_norm(given):
    x, mean, var = given["input"], given["running_mean"], given["running_var"]
    if not given["use_input_stats"] or mean is not None or var is not None or x.dim() < 3:
        return NotImplemented
    if x[0, 0].numel() == 1:
        return NotImplemented  # refused
    n, channels = x.shape[:2]
    weight, bias = (
        None if given[name] is None else given[name].repeat([n]) for name in ("weight", "bias")
    )  # one for each example
    parts = x.contiguous().view([1, n * channels, *x.shape[2:]])
    made = _batch_norm({**given, "input": parts, "weight": weight, "bias": bias, "training": True})
    return made.view(x.shape)


RULES = {
    "dropout": _dropped(lambda x: call("empty_like", x)),
    "dropout1d": _dropped(_noise_of_channels(1)),
    "dropout2d": _dropped(_noise_of_channels(2)),
    "dropout3d": _dropped(_noise_of_channels(3)),
    "normalize": _normalize,
    "one_hot": _one_hot,
    "adaptive_max_pool2d": _largest_in_windows,
    "grid_sample": _sampled,
    "affine_grid": _affine_grid,
    "multi_margin_loss": _multi_margin_loss,
    "bilinear": _bilinear,
    "pdist": _pdist,
    "instance_norm": _instance_norm,
    "mse_loss": _loss("mse_loss"),
    "smooth_l1_loss": _loss("smooth_l1_loss", "beta"),
    "huber_loss": _loss("huber_loss", "delta"),
    "soft_margin_loss": _loss("soft_margin_loss"),
    "binary_cross_entropy": _entropy("binary_cross_entropy"),
    "binary_cross_entropy_with_logits": _entropy("binary_cross_entropy_with_logits", "pos_weight"),
    "nll_loss": _nll_loss,
    "cross_entropy": _cross_entropy,
    "group_norm": _group_norm,
    "batch_norm": _batch_norm,
    "embedding": _embedding,
    "pad": _pad,
    "interpolate": _resampled,
    "scaled_dot_product_attention": _attention,
}
