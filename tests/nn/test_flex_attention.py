"""flex_attention: scores changed and masked by functions of positions, plain and in one graph."""

import math

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter
from minidynamo.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)


def inputs(batch=2, heads=2, length=4, width=8):
    torch.manual_seed(0)
    return [torch.randn(batch, heads, length, width) for _ in range(3)]


def causal(b, h, q, kv):
    return q >= kv


def near(b, h, q, kv):
    return (q - kv).abs() < 2


table = torch.linspace(-1, 1, 16).reshape(4, 4)
lengths = torch.tensor([2, 4])
SCORES = {
    "none": None,
    "same": lambda s, b, h, q, kv: s,
    "bias": lambda s, b, h, q, kv: s + table[q, kv],
    "distance": lambda s, b, h, q, kv: s + (q - kv) * 0.5 * (h + 1),
    "causal": lambda s, b, h, q, kv: torch.where(q >= kv, s, -float("inf")),
    "soft cap": lambda s, b, h, q, kv: torch.tanh(s / 2) * 2,
    "lengths": lambda s, b, h, q, kv: torch.where(kv < lengths[b], s, -float("inf")),
}
MASKS = {"none": None, "causal": causal, "near": near, "both": and_masks(causal, near), "any": or_masks(causal, near)}


def by_elements(q, k, v, score, mask, scale=None):
    """One score at a time, each position a 0-d tensor."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = q @ k.transpose(-2, -1) * scale
    rows = []
    for b in range(scores.shape[0]):
        for h in range(scores.shape[1]):
            for i in range(scores.shape[2]):
                for j in range(scores.shape[3]):
                    at = [torch.tensor(n) for n in (b, h, i, j)]
                    s = scores[b, h, i, j] if score is None else score(scores[b, h, i, j], *at)
                    rows.append(s if mask is None or mask(*at) else torch.tensor(-float("inf")))
    scores = torch.stack([r.float() for r in rows]).view(scores.shape)
    return torch._safe_softmax(scores, -1) @ v, scores.logsumexp(-1)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", SCORES)
def test_values(score, mask):
    q, k, v = inputs()
    blocks = None if MASKS[mask] is None else create_block_mask(MASKS[mask], None, None, 4, 4)

    def f(q, k, v):
        return flex_attention(q, k, v, SCORES[score], blocks, return_lse=True)

    want = by_elements(q, k, v, SCORES[score], MASKS[mask])
    counter = CompileCounter()
    for g in (f, torch.compile(f, backend=counter, fullgraph=True), torch.compile(f)):
        got = g(q, k, v)
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(got, want))
    assert counter.frame_count == 1


def test_a_mask_made_in_the_graph():
    def f(q, k, v):
        return flex_attention(q, k, v, block_mask=create_block_mask(causal, 1, 1, 4, 4))

    want = by_elements(*inputs(), None, causal)[0]
    assert torch.allclose(torch.compile(f, backend="eager", fullgraph=True)(*inputs()), want, atol=1e-6)


def test_gradients_come_back():
    found = []
    for f in (
        lambda q, k, v: flex_attention(q, k, v, SCORES["bias"]),
        torch.compile(lambda q, k, v: flex_attention(q, k, v, SCORES["bias"])),
        lambda q, k, v: (q @ k.transpose(-2, -1) / math.sqrt(8) + table).softmax(-1) @ v,
    ):
        given = [x.requires_grad_() for x in inputs()]
        f(*given).square().sum().backward()
        found.append([x.grad for x in given])
    for other in found[:2]:
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(other, found[2]))


def test_heads_that_share_keys():
    q, _, _ = inputs(heads=4)
    _, k, v = inputs(heads=2)
    want = flex_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))
    assert torch.equal(flex_attention(q, k, v, enable_gqa=True), want)
    with pytest.raises(ValueError, match="enable_gqa"):
        flex_attention(q, k, v)
    with pytest.raises(ValueError, match="multiple"):
        flex_attention(q[:, :3], k, v, enable_gqa=True)


def test_what_does_not_fit():
    q, k, v = inputs()
    with pytest.raises(NotImplementedError):
        flex_attention(q[0], k, v)
    with pytest.raises(NotImplementedError):
        flex_attention(q, k, v, return_aux=AuxRequest(max_scores=True))
    for call in (
        lambda: flex_attention(q[..., :4], k, v),
        lambda: flex_attention(q, k[:1], v[:1]),
        lambda: flex_attention(q, k, v, block_mask=create_block_mask(causal, 1, 1, 8, 8)),
        lambda: create_block_mask(lambda b, h, i, j: 3, 1, 1, 4, 4),
    ):
        with pytest.raises(ValueError):
            call()
    for mask in (lambda b, h, i, j: (i - j).float(), lambda b, h, i: i):
        with pytest.raises(AssertionError):
            create_block_mask(mask, 1, 1, 4, 4)
    with pytest.raises(RuntimeError):
        and_masks(3)
    with pytest.raises(TypeError):
        create_block_mask(3, 1, 1, 4, 4)


def test_beside_the_result():
    q, k, v = inputs()
    out, aux = flex_attention(q, k, v, return_aux=AuxRequest(lse=True))
    other, lse = flex_attention(q, k, v, return_lse=True)
    assert torch.equal(out, other) and torch.equal(aux.lse, lse) and aux.max_scores is None
    assert flex_attention(q.half(), k.half(), v.half()).dtype == torch.float16


def test_block_masks():
    mask = create_block_mask(causal, 2, 3, 256, 384)
    assert mask.shape == (2, 3, 256, 384) and mask.numel() == 589824 and mask.sparsity() == 50
    assert mask.kv_num_blocks[0, 0].tolist() == [1, 1] and mask.kv_indices[0, 0].tolist() == [[0, 1, 2], [1, 0, 2]]
    assert mask.full_kv_num_blocks[0, 0].tolist() == [0, 1]
    assert mask.q_num_blocks[0, 0].tolist() == [1, 1, 0] and mask.q_indices[0, 0].tolist() == [[0, 1], [1, 0], [0, 1]]
    assert mask.full_q_indices[0, 0].tolist() == [[1, 0], [0, 1], [0, 1]]
    assert mask.to_dense()[1, 2].tolist() == [[1, 0, 0], [1, 1, 0]]
    assert str(mask[0, 1]) == "BlockMask(shape=(1, 1, 256, 384), sparsity=50.00%, \n(0, 0)\n██    \n████\n)"
    assert mask[1].shape == (1, 3, 256, 384) and mask[:, :2].shape == (2, 2, 256, 384)
    with pytest.raises(RuntimeError):
        mask[0].mask_mod(0, 0, 1, 0)
    assert mask._adjust(128, 128).shape == (2, 3, 128, 128)
    assert "mask_mod=causal" in repr(mask) and len(mask.as_tuple()) == 17
    together = create_block_mask(causal, None, None, 256, 384, separate_full_blocks=False)
    assert together.full_kv_num_blocks is None and together.kv_num_blocks.tolist() == [[[1, 2]]]
    made = BlockMask.from_kv_blocks(together.kv_num_blocks, together.kv_indices, BLOCK_SIZE=16)
    assert made.shape == (1, 1, 32, 48) and made.mask_mod is noop_mask
    odd = create_block_mask(causal, 2, None, 200, 300, BLOCK_SIZE=(64, 32))
    assert (
        odd.kv_num_blocks.tolist() == [[[2, 2, 2, 7]]] * 2 and odd.full_kv_num_blocks.tolist() == [[[0, 2, 4, 0]]] * 2
    )


def test_dense_masks():
    assert create_mask(causal, None, None, 2, 3).tolist() == [[[[True, False, False], [True, True, False]]]]
    assert create_mask(SCORES["causal"], 1, 1, 2, 2).tolist() == [[[[True, False], [True, True]]]]
    assert bool(noop_mask(*[torch.tensor(0)] * 4))
