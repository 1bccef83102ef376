"""Attention of several heads against NumPy, with every mask; the Transformer's layers as their parts say."""

import math

import numpy as np
import pytest

import minidynamo as torch

F, nn = torch.nn.functional, torch.nn
rng = np.random.default_rng(0)
CAUSAL = np.triu(np.ones((4, 4)), 1) > 0
PADDING = np.array([[False] * 4, [False, False, True, True]])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(made, q, k, v, mask):
    """(output, weights of each head) of batch-first arrays; `mask`, (batch, heads, targets, sources), is added."""
    n = {name: p.detach().numpy() for name, p in made.named_parameters()}
    if "in_proj_weight" in n:
        weights = np.split(n["in_proj_weight"], 3)
    else:
        weights = [n[f"{letter}_proj_weight"] for letter in "qkv"]
    biases = np.split(n["in_proj_bias"], 3) if "in_proj_bias" in n else [0, 0, 0]
    q, k, v = (x @ w.T + b for x, w, b in zip((q, k, v), weights, biases))
    if made.bias_k is not None:
        k, v = (np.concatenate([x, np.repeat(n[b], len(x), 0)], 1) for x, b in ((k, "bias_k"), (v, "bias_v")))
    if made.add_zero_attn:
        k, v = (np.concatenate([x, np.zeros_like(x[:, :1])], 1) for x in (k, v))
    heads = made.num_heads
    q, k, v = (x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3) for x in (q, k, v))
    extra = k.shape[2] - mask.shape[3]
    mask = np.concatenate([mask, np.zeros((*mask.shape[:3], extra))], 3)
    weights = softmax(q @ k.transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1]) + mask)
    rows = (weights @ v).transpose(0, 2, 1, 3).reshape(*q.transpose(0, 2, 1, 3).shape[:2], -1)
    return rows @ n["out_proj.weight"].T + n.get("out_proj.bias", 0), weights


def infinite(mask):
    return np.where(mask, -np.inf, 0.0)


MASKS = {
    "none": ({}, np.zeros((2, 2, 4, 4))),
    "bool": ({"attn_mask": CAUSAL}, np.broadcast_to(infinite(CAUSAL), (2, 2, 4, 4))),
    "numbers": ({"attn_mask": np.full((4, 4), 0.3) * CAUSAL}, np.broadcast_to(0.3 * CAUSAL, (2, 2, 4, 4))),
    "padding": ({"key_padding_mask": PADDING}, np.broadcast_to(infinite(PADDING)[:, None, None], (2, 2, 4, 4))),
    "both": ({"attn_mask": CAUSAL, "key_padding_mask": PADDING},
             np.broadcast_to(infinite(PADDING)[:, None, None] + infinite(CAUSAL), (2, 2, 4, 4))),
    "heads": ({"attn_mask": np.arange(64.0).reshape(4, 4, 4) / 30}, np.arange(64.0).reshape(2, 2, 4, 4) / 30),
}  # fmt: skip
KINDS = [{}, {"bias": False}, {"add_bias_kv": True}, {"add_zero_attn": True}, {"kdim": 5, "vdim": 3},
         {"add_bias_kv": True, "add_zero_attn": True}]  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("kind", KINDS)
def test_attention_of_heads(kind, mask, compiled):
    made = nn.MultiheadAttention(6, 2, batch_first=True, dtype=torch.float64, **kind)
    for parameter in made.parameters():
        nn.init.normal_(parameter)
    given = [rng.normal(size=(2, 4, n)) for n in (6, kind.get("kdim", 6), kind.get("vdim", 6))]
    masks, added = MASKS[mask]
    wanted, weights = attention(made, *given, added)
    call = torch.compile(made) if compiled else made
    tensors, masks = [torch.tensor(x) for x in given], {k: torch.tensor(v) for k, v in masks.items()}
    found, mean = call(*tensors, **masks)
    np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(mean.detach().numpy(), weights.mean(1), atol=1e-12)
    each = call(*tensors, average_attn_weights=False, **masks)[1]
    np.testing.assert_allclose(each.detach().numpy(), weights, atol=1e-12)
    without, nothing = call(*tensors, need_weights=False, **masks)
    assert nothing is None and torch.allclose(without, found)


def test_layouts_and_the_causal_hint():
    made = nn.MultiheadAttention(6, 2).double().eval()
    first = nn.MultiheadAttention(6, 2, batch_first=True).double().eval()
    first.load_state_dict(made.state_dict())
    x, mask = torch.tensor(rng.normal(size=(4, 2, 6))), torch.tensor(CAUSAL)
    found = made(x, x, x, attn_mask=mask)[0]
    y = x.transpose(0, 1)
    assert torch.allclose(first(y, y, y, attn_mask=mask)[0].transpose(0, 1), found)
    assert torch.allclose(made(x[:, 1], x[:, 1], x[:, 1], attn_mask=mask)[0], found[:, 1])
    hinted = made(x, x, x, attn_mask=mask, need_weights=False, is_causal=True)[0]
    assert torch.allclose(hinted, found)
    assert torch.equal(mask, nn.Transformer.generate_square_subsequent_mask(4) == -math.inf)


def test_static_keys():
    made = nn.MultiheadAttention(6, 2).double()
    x = torch.tensor(rng.normal(size=(4, 3, 6)))
    rows = F.linear(x, made.in_proj_weight, made.in_proj_bias).chunk(3, -1)
    k, v = (r.reshape(4, 6, 3).transpose(0, 1) for r in rows[1:])
    settings = (6, 2, made.in_proj_weight, made.in_proj_bias, None, None, False, 0.0, made.out_proj.weight, None)
    usual = F.multi_head_attention_forward(x, x, x, *settings)[0]
    assert torch.allclose(F.multi_head_attention_forward(x, x, x, *settings, static_k=k, static_v=v)[0], usual)


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda m, x: m(x, x, x, is_causal=True), RuntimeError),
        (lambda m, x: m(x, x[0], x[0]), AssertionError),
        (lambda m, x: m(x, x, x[:2]), AssertionError),
        (lambda m, x: m(x, x, x, attn_mask=torch.zeros(3, 4)), RuntimeError),
        (lambda m, x: m(x, x, x, attn_mask=torch.zeros(4, 4, dtype=torch.int64)), AssertionError),
        (lambda m, x: m(x, x, x, key_padding_mask=torch.zeros(4, dtype=torch.bool)), AssertionError),
        (lambda m, x: m(x[..., :4], x, x), AssertionError),
        (lambda m, x: nn.MultiheadAttention(6, 4), AssertionError),
        (lambda m, x: nn.TransformerDecoderLayer(6, 2, activation="tanh"), RuntimeError),
        (lambda m, x: nn.Transformer(6, 2, 1, 1, 8)(x, x[:, :1]), RuntimeError),
        (lambda m, x: nn.Transformer(6, 2, 1, 1, 8)(x, x[..., :3]), RuntimeError),
    ],
)
def test_wrong_arguments(call, kind):
    with pytest.raises(kind):
        call(nn.MultiheadAttention(6, 2), torch.ones(4, 2, 6))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
def test_decoder_layer(norm_first, compiled):
    layer = nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0, norm_first=norm_first, activation="gelu").double()
    x, memory = (torch.tensor(rng.normal(size=(4, 2, 6))) for _ in range(2))
    mask, padding = torch.tensor(CAUSAL), torch.tensor(PADDING)

    def own(y):
        return layer.self_attn(y, y, y, attn_mask=mask)[0]

    def other(y):
        return layer.multihead_attn(y, memory, memory, key_padding_mask=padding)[0]

    def wide(y):
        return layer.linear2(F.gelu(layer.linear1(y)))

    wanted = x
    for part, norm in ((own, layer.norm1), (other, layer.norm2), (wide, layer.norm3)):
        wanted = wanted + part(norm(wanted)) if norm_first else norm(wanted + part(wanted))
    call = torch.compile(layer) if compiled else layer
    found = call(x, memory, tgt_mask=mask, memory_key_padding_mask=padding)
    assert torch.allclose(found, wanted)


def test_transformer():
    torch.manual_seed(0)
    model = nn.Transformer(6, 2, 2, 1, 8, dropout=0.0, batch_first=True).double()
    src, tgt = torch.tensor(rng.normal(size=(2, 5, 6)), requires_grad=True), torch.tensor(rng.normal(size=(2, 4, 6)))
    mask = model.generate_square_subsequent_mask(4, dtype=torch.float64)
    found = model(src, tgt, tgt_mask=mask)
    memory = model.encoder(src)
    assert torch.allclose(found, model.decoder(tgt, memory, tgt_mask=mask))
    later = tgt.clone()
    later[:, 2:] = 7.0  # what is behind does not change what is before
    assert torch.allclose(model(src, later, tgt_mask=mask)[:, :2], found[:, :2])
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    short = model(src[1:, :3], tgt[1:])
    padded = model(src, tgt, src_key_padding_mask=padding, memory_key_padding_mask=padding)
    assert torch.allclose(padded[1:], short)
    (found * tgt).sum().backward()
    assert src.grad.abs().sum().item() > 0 and all(p.grad is not None for p in model.parameters())
    keys = list(model.state_dict())
    assert keys[0] == "encoder.layers.0.self_attn.in_proj_weight" and keys[-1] == "decoder.norm.bias"
