"""Attention: MultiheadAttention and the Transformer encoder."""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from . import functional as F
from . import init
from .containers import ModuleList
from .linear import Dropout, Linear
from .module import Module
from .normalization import LayerNorm
from .parameter import Parameter


def _additive(mask, dtype):
    """A mask whose numbers are added to scores; True of a bool mask means: look away."""
    if mask is None or mask.dtype != _C.bool:
        return mask
    return _C.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)


class MultiheadAttention(Module):
    """Attention of `num_heads` heads between projections of query, key and value."""

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if add_bias_kv or add_zero_attn:
            raise NotImplementedError("MultiheadAttention: add_bias_kv and add_zero_attn are not part of minidynamo")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def weight(*shape):
            return Parameter(_C.empty(shape, device=device, dtype=dtype))

        same = self._qkv_same_embed_dim
        self.q_proj_weight = None if same else weight(embed_dim, embed_dim)
        self.k_proj_weight = None if same else weight(embed_dim, self.kdim)
        self.v_proj_weight = None if same else weight(embed_dim, self.vdim)
        self.register_parameter("in_proj_weight", weight(3 * embed_dim, embed_dim) if same else None)
        self.register_parameter("in_proj_bias", weight(3 * embed_dim) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self._reset_parameters()

    def _reset_parameters(self):
        weights = (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        for weight in weights:
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

    def _project(self, inputs):
        """Query, key and value, each (batch, heads, length, head_dim)."""
        if self._qkv_same_embed_dim:
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = (None, None, None) if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        projected = []
        for given, weight, bias in zip(inputs, weights, biases):
            rows = F.linear(given, weight, bias)
            split = rows.view(rows.shape[0], rows.shape[1], self.num_heads, self.head_dim)
            projected.append(split.transpose(1, 2))
        return projected

    def _mask(self, key_padding_mask, attn_mask, batched, dtype):
        """Both masks as one that is added to scores, or None."""
        mask = _additive(attn_mask, dtype)
        if mask is not None and mask.dim() == 3:  # one for each head of each batch entry
            mask = mask.view(-1, self.num_heads, mask.shape[1], mask.shape[2])
        if key_padding_mask is None:
            return mask
        padding = _additive(key_padding_mask if batched else key_padding_mask.unsqueeze(0), dtype)
        padding = padding.view(padding.shape[0], 1, 1, padding.shape[1])
        return padding if mask is None else mask + padding

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        """(output, weights or None). Inputs are (length, batch, features), batch first if so made, or unbatched."""
        if query.dim() not in (2, 3):
            raise AssertionError(
                f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
            )
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        batched = query.dim() == 3
        inputs = (query, key, value)
        if not batched:
            inputs = [x.unsqueeze(0) for x in inputs]
        elif not self.batch_first:
            inputs = [x.transpose(0, 1) for x in inputs]
        if inputs[0].shape[-1] != self.embed_dim:
            raise AssertionError(
                f"was expecting embedding dimension of {self.embed_dim}, but got {inputs[0].shape[-1]}"
            )
        q, k, v = self._project(inputs)
        mask = self._mask(key_padding_mask, attn_mask, batched, q.dtype)
        dropped = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = (q * (1.0 / math.sqrt(self.head_dim))).matmul(k.transpose(-2, -1))
            weights = (scores if mask is None else scores + mask).softmax(-1)
            weights = F.dropout(weights, dropped) if dropped > 0.0 else weights
            heads = weights.matmul(v)
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropped)
        result = self.out_proj(heads.transpose(1, 2).flatten(2))
        if not batched:
            return result.squeeze(0), None if weights is None else weights.squeeze(0)
        return (result if self.batch_first else result.transpose(0, 1)), weights


class TransformerEncoderLayer(Module):
    """Self-attention, then two linear layers, each with a residual connection and a norm."""

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        place = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **place)
        self.linear1 = Linear(d_model, dim_feedforward, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **place)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **place)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **place)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        if isinstance(activation, str):
            if activation not in ("relu", "gelu"):
                raise RuntimeError(f"activation should be relu/gelu, not {activation}")
            activation = F.relu if activation == "relu" else F.gelu
        self.activation = activation

    def _attend(self, x, mask, padding, is_causal):
        x, _ = self.self_attn(
            x, x, x, key_padding_mask=padding, need_weights=False, attn_mask=mask, is_causal=is_causal
        )
        return self.dropout1(x)

    def _feed_forward(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        if self.norm_first:
            src = src + self._attend(self.norm1(src), src_mask, src_key_padding_mask, is_causal)
            return src + self._feed_forward(self.norm2(src))
        src = self.norm1(src + self._attend(src, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(src + self._feed_forward(src))


class TransformerEncoder(Module):
    """`num_layers` copies of a layer, one after the other, then `norm` if given."""

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        from copy import deepcopy

        self.layers = ModuleList([deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


__getattr__ = _absent_names(__name__)
