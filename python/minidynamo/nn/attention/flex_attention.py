"""torch.nn.attention.flex_attention: attention whose scores a function of the program's changes.

J. Dong et al., "Flex Attention: A Programming Model for Generating Optimized Attention Kernels", 2024. The functions
are called once, with tensors of all positions that broadcast against each other, and so compile like any other code.
"""

import math
from typing import NamedTuple

from ... import _C
from ..._absent import absent_names as _absent_names
from ..._higher_order_ops.compiled_calls import call as _call
from ..._higher_order_ops.wrap import wrap as _wrap
from .block_mask import BlockMask as BlockMask
from .block_mask import mask_of_blocks as _mask_of_blocks
from .block_mask import noop_mask as noop_mask
from .block_mask import pair_of as _pair_of

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]


class AuxRequest(NamedTuple):
    """What flex_attention() is to give beside its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What it gave: None for what was not asked for."""

    lse: object = None
    max_scores: object = None


def _check_masks(masks):
    if not all(callable(mask) for mask in masks):
        raise RuntimeError(f"masks should be functions: {masks}")


def and_masks(*mask_mods):
    """The mask that lets through what all of these do. Raises RuntimeError if one is no function."""
    _check_masks(mask_mods)

    def and_mask(b, h, q_idx, kv_idx):
        result = b.new_ones((), dtype=_C.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def or_masks(*mask_mods):
    """The mask that lets through what any of these does. Raises RuntimeError if one is no function."""
    _check_masks(mask_mods)

    def or_mask(b, h, q_idx, kv_idx):
        result = b.new_zeros((), dtype=_C.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def _positions(sizes, device):
    """int64 tensors of positions, one for each dimension, that broadcast to these sizes."""
    return [
        _C.arange(n, device=device).view([n if other == d else 1 for other in range(4)]) for d, n in enumerate(sizes)
    ]


def _takes_scores(function):
    """Whether a function takes five positional arguments, the first being a score, and not four."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    count = code.co_argcount - len(function.__defaults__ or ())
    if count not in (4, 5):
        raise AssertionError(f"a mask takes 4 positional arguments, a change of scores 5, not {count}")
    return count == 5


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """bool (B, H, Q_LEN, KV_LEN): mod_fn(b, h, q, kv) at all positions; B and H may be None, which is 1.

    Of a function of (score, b, h, q, kv), where it leaves a score of 0 above minus infinity.
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    positions = _positions(sizes, device or "cpu")
    if not callable(mod_fn):
        raise TypeError(f"{mod_fn} is not a callable object")
    if _takes_scores(mod_fn):
        scores = mod_fn(_C.zeros(sizes, device=device or "cpu"), *positions)
        return (scores > -math.inf).expand(sizes)
    mask = mod_fn(*positions)
    if not isinstance(mask, _C.Tensor):
        raise ValueError(f"a mask should return a tensor, not {type(mask)}")
    if mask.dtype != _C.bool:
        raise AssertionError(f"a mask should return a bool tensor, not one of {mask.dtype}")
    return mask.expand(sizes).clone()


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN,
    KV_LEN,
    device=None,
    BLOCK_SIZE=128,
    _compile=False,
    separate_full_blocks=True,
    compute_dq_write_order=False,
    dq_kv_order=True,
):
    """The BlockMask of mask_mod(b, h, q, kv), a bool function of positions; B and H may be None, which is 1.

    Raises AssertionError for a mask that is not bool, or takes another number of arguments.
    """
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    return _mask_of_blocks(mask, _pair_of(BLOCK_SIZE), separate_full_blocks, mask_mod)


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """softmax(score_mod(query @ key^T * scale)) @ value, over what `block_mask` lets through.

    query (B, Hq, L, E), key (B, Hkv, S, E), value (B, Hkv, S, Ev): a result (B, Hq, L, Ev) of query's dtype. With
    `enable_gqa` Hq may be a multiple of Hkv. score_mod(score, b, h, q, kv) is a function of scores and their positions,
    and may not change Python objects (GB0067). A row in which nothing is let through gives 0. With `return_lse` also
    the logarithm of the sums of exponentials (B, Hq, L), float32; `return_aux` asks for it in an AuxOutput.

    Raises NotImplementedError for other than 4 dimensions and for largest scores, ValueError for sizes that do not fit.
    """
    _check(query, key, value, block_mask, enable_gqa)
    if return_aux is not None and return_aux.max_scores:
        raise NotImplementedError("flex_attention(): largest scores are not given on the CPU")
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    mask_mod = None if block_mask is None else block_mask.mask_mod
    out, lse = _call(_attend, _attend, (score_mod, mask_mod), (query, key, value, score_mod, mask_mod, scale))
    if return_aux is not None:
        return out, AuxOutput(lse if return_aux.lse else None)
    return (out, lse) if return_lse else out


def _check(query, key, value, block_mask, enable_gqa):
    if any(t.dim() != 4 for t in (query, key, value)):
        raise NotImplementedError("flex_attention(): query, key and value should have 4 dimensions")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"flex_attention(): E of query and key differ: {query.shape[-1]} and {key.shape[-1]}")
    heads, shared = query.shape[1], key.shape[1]
    if not enable_gqa and heads != shared:
        raise ValueError(f"flex_attention(): {heads} heads of queries, {shared} of keys: enable_gqa allows that")
    if enable_gqa and heads % shared:
        raise ValueError(f"flex_attention(): {heads} heads of queries are no multiple of {shared}")
    if query.shape[0] != key.shape[0] and (block_mask is None or key.shape[0] != 1):
        raise ValueError(f"flex_attention(): batches of {query.shape[0]} queries and {key.shape[0]} keys")
    if block_mask is not None and block_mask.shape[-2:] != (query.shape[-2], key.shape[-2]):
        raise ValueError(
            f"flex_attention(): the mask is for lengths {block_mask.shape[-2:]}, not "
            f"{(query.shape[-2], key.shape[-2])}: create another one"
        )


def _attend(query, key, value, score_mod, mask_mod, scale):
    working = _C.float64 if query.dtype == _C.float64 else _C.float32
    times = query.shape[1] // key.shape[1]
    if times > 1:
        key, value = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
    scores = query.to(working) @ key.to(working).transpose(-2, -1) * scale
    positions = _positions(scores.shape, scores.device)
    if score_mod is not None:
        scores = _wrap(score_mod, scores, *positions).to(working).expand(scores.shape)
    if mask_mod is not None:
        scores = _C.where(_wrap(mask_mod, *positions), scores, -math.inf)
    weights = _C._safe_softmax(scores, -1)
    return (weights @ value.to(working)).to(query.dtype), scores.logsumexp(-1)


__getattr__ = _absent_names(__name__)
