"""Attention: with masks, and with the projections of several heads."""

import math
import warnings

from .. import _C
from .._dynamo.eval_frame import is_compiling
from .arguments import need_tensors
from .dropout_functions import dropout
from .padding_functions import pad

_linear = _C._namespaces["nn.functional"]["linear"]


@_C._overridable
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """softmax(query @ key.T * scale + mask) @ value; a row with nothing to attend to gives 0."""
    need_tensors("scaled_dot_product_attention", query=query, key=key, value=value)
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * factor).matmul(key.transpose(-2, -1))
    if is_causal:
        attn_mask = _C.ones(query.shape[-2], key.shape[-2], dtype=_C.bool, device=query.device).tril()
    if attn_mask is None:
        shares = scores.softmax(-1)
    else:
        if attn_mask.dtype == _C.bool:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        else:
            scores = scores + attn_mask
        shares = _C._safe_softmax(scores, -1)
    if dropout_p > 0.0:
        shares = dropout(shares, dropout_p)
    result = shares.matmul(value)
    if dropout_p > 0.0 or enable_gqa or query.dim() != 4 or query.shape[-1] != value.shape[-1]:
        return result
    return _C._as_one_call(result, "ScaledDotProductFlashAttentionForCpu", query, key, value)


# --- several heads


def _additive(mask, name, dtype):
    """A mask whose numbers are added to scores; True of a bool mask means: look away."""
    if mask is None:
        return None
    if mask.dtype != _C.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported, got {mask.dtype}")
    if mask.dtype == _C.bool:
        return _C.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)
    return mask


def _check_inputs(query, key, value, key_padding_mask, attn_mask):
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"for a query of {dims} dimensions key and value have to have {dims}, got {key.dim()} and {value.dim()}"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(
            f"for a query of {dims} dimensions key_padding_mask has to have {dims - 1}, got {key_padding_mask.dim()}"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(f"attn_mask has to have 2 or 3 dimensions, got {attn_mask.dim()}")


def _check_sizes(query, key, value, embed_dim, num_heads, separate):
    if query.shape[2] != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {query.shape[2]}")
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    both = 2 if separate else 3  # how many dimensions of key and value have to be equal
    if key.shape[:both] != value.shape[:both]:
        raise AssertionError(
            f"key has the shape {list(key.shape)} and value {list(value.shape)}: they do not go together"
        )


def _projected(inputs, weights, bias):
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [_linear(given, weight, each) for given, weight, each in zip(inputs, weights, biases)]


def _has_bias(bias_k, bias_v, static_k, static_v):
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v go together: both have to be given, or None")
    if bias_k is not None and (static_k is not None or static_v is not None):
        raise AssertionError("a bias cannot be added to a static key or value")
    return bias_k is not None


def _one_more(*masks):
    """Masks that let everything see one more key."""
    return [None if mask is None else pad(mask, (0, 1)) for mask in masks]


def _split(rows, num_heads, head_dim):
    """(length, batch, features) as (batch, heads, length, head_dim)."""
    return rows.view(rows.shape[0], rows.shape[1], num_heads, head_dim).permute(1, 2, 0, 3)


def _keys(rows, static, batch, num_heads, head_dim, name):
    """Projected keys or values, or what is given in their place, (batch * heads, length, head_dim)."""
    if static is None:
        return _split(rows, num_heads, head_dim)
    if static.shape[0] != batch * num_heads or static.shape[2] != head_dim:
        raise AssertionError(f"{name} has to be ({batch * num_heads}, length, {head_dim}), got {list(static.shape)}")
    return static.view(batch, num_heads, -1, head_dim)


def _check_mask(mask, batch, num_heads, targets, sources):
    wanted = (targets, sources) if mask.dim() == 2 else (batch * num_heads, targets, sources)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(f"attn_mask has to have the shape {wanted}, got {tuple(mask.shape)}")


def _warn_of_two_kinds(attn_mask, key_padding_mask):
    if attn_mask is None or key_padding_mask is None or is_compiling():
        return
    if key_padding_mask.dtype != attn_mask.dtype:
        warnings.warn(
            f"attn_mask ({attn_mask.dtype}) and key_padding_mask ({key_padding_mask.dtype}) of two kinds are "
            "deprecated: give both as bools, or both as numbers that are added",
            stacklevel=3,
        )


def _merged(attn_mask, key_padding_mask, batch, num_heads, sources):
    """Both masks as one of 4 dimensions that is added to scores, or None."""
    if attn_mask is not None and attn_mask.dim() == 3:  # one for each head of each batch entry
        attn_mask = attn_mask.view(batch, num_heads, *attn_mask.shape[1:])
    if key_padding_mask is None:
        return attn_mask
    if tuple(key_padding_mask.shape) != (batch, sources):
        raise AssertionError(
            f"key_padding_mask has to have the shape {(batch, sources)}, got {tuple(key_padding_mask.shape)}"
        )
    padding = key_padding_mask.view(batch, 1, 1, sources)
    return padding if attn_mask is None else attn_mask + padding


@_C._overridable
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Attention of `num_heads` heads between projections of query, key and value: (output, weights or None).

    Inputs are (length, batch, features) or (length, features). `attn_mask` (targets, sources), or one for each head of
    each batch entry, and `key_padding_mask` (batch, sources): True means look away, numbers are added to the scores.
    `bias_k` and `bias_v` are one more key and value, `add_zero_attn` one of zeros, `static_k` and `static_v`
    (batch * heads, sources, head_dim) stand for the projected ones. `is_causal` says that attn_mask, which has to be
    there, is causal. AssertionError and RuntimeError for shapes that do not go together.
    """
    _check_inputs(query, key, value, key_padding_mask, attn_mask)
    _warn_of_two_kinds(attn_mask, key_padding_mask)
    batched = query.dim() == 3
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    padding = _additive(key_padding_mask, "key_padding_mask", query.dtype)
    causal = is_causal and padding is None and not need_weights
    mask = None if causal else _additive(attn_mask, "attn_mask", query.dtype)
    (targets, batch, features), head_dim = query.shape, query.shape[2] // num_heads
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight.chunk(3)
    q, k, v = _projected((query, key, value), weights, in_proj_bias)
    if mask is not None:
        _check_mask(mask, batch, num_heads, targets, k.shape[0] if static_k is None else static_k.shape[1])
    if _has_bias(bias_k, bias_v, static_k, static_v):
        k, v = _C.cat([k, bias_k.repeat(1, batch, 1)]), _C.cat([v, bias_v.repeat(1, batch, 1)])
        mask, padding = _one_more(mask, padding)
    q = _split(q, num_heads, head_dim)
    k = _keys(k, static_k, batch, num_heads, head_dim, "static_k")
    v = _keys(v, static_v, batch, num_heads, head_dim, "static_v")
    if add_zero_attn:
        nothing = _C.zeros((batch, num_heads, 1, head_dim), dtype=k.dtype, device=k.device)
        k, v = _C.cat([k, nothing], 2), _C.cat([v, nothing], 2)
        mask, padding = _one_more(mask, padding)
    mask = _merged(mask, padding, batch, num_heads, k.shape[2])
    dropped = dropout_p if training else 0.0
    shares = None
    if need_weights:
        scores = (q * (1.0 / math.sqrt(head_dim))).matmul(k.transpose(-2, -1))
        shares = (scores if mask is None else scores + mask).softmax(-1)
        shares = dropout(shares, dropped) if dropped > 0.0 else shares
        heads = shares.matmul(v)
        shares = shares.mean(1) if average_attn_weights else shares
    else:
        heads = scaled_dot_product_attention(q, k, v, mask, dropped, causal)
    result = _linear(heads.permute(2, 0, 1, 3).reshape(targets * batch, features), out_proj_weight, out_proj_bias)
    result = result.view(targets, batch, result.shape[1])
    if batched:
        return result, shares
    return result.squeeze(1), None if shares is None else shares.squeeze(0)
