"""Memory formats of results: which calls keep channels last and which give row-major results, as torch's do."""

import pytest

import minidynamo as torch

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("no_defects")
cl = torch.channels_last
# Strides torch gives for an input of sizes (2, 4, 6, 6) in channels_last.
CALLS = {
    "add": (lambda x, w, b: x + 1, (144, 1, 24, 4)),
    "addb": (lambda x, w, b: x + b.view(1, -1, 1, 1), (144, 1, 24, 4)),
    "mul2": (lambda x, w, b: x * x.contiguous(), (144, 1, 24, 4)),
    "relu": (lambda x, w, b: F.relu(x), (144, 1, 24, 4)),
    "gelu": (lambda x, w, b: F.gelu(x), (144, 1, 24, 4)),
    "sigmoid": (lambda x, w, b: x.sigmoid(), (144, 1, 24, 4)),
    "silu": (lambda x, w, b: F.silu(x), (144, 1, 24, 4)),
    "where": (lambda x, w, b: torch.where(x > 0, x, 0.0), (144, 1, 24, 4)),
    "clamp": (lambda x, w, b: x.clamp(0, 1), (144, 1, 24, 4)),
    "exp": (lambda x, w, b: x.exp(), (144, 1, 24, 4)),
    "conv": (lambda x, w, b: F.conv2d(x, w, b), (64, 1, 16, 4)),
    "conv_p": (lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1), (36, 1, 12, 4)),
    "conv_wcl": (lambda x, w, b: F.conv2d(x.contiguous(), w.to(memory_format=cl), b), (64, 1, 16, 4)),
    "conv_cont": (lambda x, w, b: F.conv2d(x.contiguous(), w, b), (64, 16, 4, 1)),
    "conv_both": (lambda x, w, b: F.conv2d(x, w.to(memory_format=cl), b), (64, 1, 16, 4)),
    "conv_g": (lambda x, w, b: F.conv2d(x, w[:, :1].repeat(1, 1, 1, 1), None, groups=4), (64, 1, 16, 4)),
    "convt": (lambda x, w, b: F.conv_transpose2d(x, w, None), (256, 1, 32, 4)),
    "conv1x1": (lambda x, w, b: F.conv2d(x, w[:, :, :1, :1], b), (144, 1, 24, 4)),
    "maxpool": (lambda x, w, b: F.max_pool2d(x, 2), (36, 1, 12, 4)),
    "maxpool_i": (lambda x, w, b: F.max_pool2d(x, 2, return_indices=True), ((36, 1, 12, 4), (36, 1, 12, 4))),
    "avgpool": (lambda x, w, b: F.avg_pool2d(x, 2), (36, 1, 12, 4)),
    "aap": (lambda x, w, b: F.adaptive_avg_pool2d(x, 2), (16, 1, 8, 4)),
    "aap1": (lambda x, w, b: F.adaptive_avg_pool2d(x, 1), (4, 1, 4, 4)),
    "amp": (lambda x, w, b: F.adaptive_max_pool2d(x, 2), (16, 1, 8, 4)),
    "lppool": (lambda x, w, b: F.lp_pool2d(x, 2.0, 2), (36, 1, 12, 4)),
    "bn_train": (lambda x, w, b: F.batch_norm(x, None, None, b, b, True), (144, 1, 24, 4)),
    "bn_eval": (lambda x, w, b: F.batch_norm(x, b, b.abs(), b, b, False), (144, 1, 24, 4)),
    "gn": (lambda x, w, b: F.group_norm(x, 2, b, b), (144, 1, 24, 4)),
    "in": (lambda x, w, b: F.instance_norm(x), (144, 36, 6, 1)),
    "ln": (lambda x, w, b: F.layer_norm(x, x.shape[1:]), (144, 36, 6, 1)),
    "ln1": (lambda x, w, b: F.layer_norm(x, x.shape[3:]), (144, 36, 6, 1)),
    "lrn": (lambda x, w, b: F.local_response_norm(x, 2), (144, 1, 24, 4)),
    "normalize": (lambda x, w, b: F.normalize(x), (144, 1, 24, 4)),
    "softmax": (lambda x, w, b: F.softmax(x, 1), (144, 36, 6, 1)),
    "softmax3": (lambda x, w, b: F.softmax(x, 3), (144, 36, 6, 1)),
    "log_softmax": (lambda x, w, b: F.log_softmax(x, 1), (144, 36, 6, 1)),
    "cat": (lambda x, w, b: torch.cat([x, x], 1), (288, 1, 48, 8)),
    "cat_mixed": (lambda x, w, b: torch.cat([x, x.contiguous()], 1), (288, 36, 6, 1)),
    "cat0": (lambda x, w, b: torch.cat([x, x], 0), (144, 1, 24, 4)),
    "cat3": (lambda x, w, b: torch.cat([x, x], 3), (288, 1, 48, 4)),
    "stack": (lambda x, w, b: torch.stack([x, x]), (288, 144, 1, 24, 4)),
    "stack1": (lambda x, w, b: torch.stack([x, x], 1), (288, 4, 1, 48, 8)),
    "pad": (lambda x, w, b: F.pad(x, (1, 1, 1, 1)), (256, 1, 32, 4)),
    "pad_reflect": (lambda x, w, b: F.pad(x, (1, 1, 1, 1), mode="reflect"), (256, 1, 32, 4)),
    "pad_rep": (lambda x, w, b: F.pad(x, (1, 1, 1, 1), mode="replicate"), (256, 1, 32, 4)),
    "pad_circ": (lambda x, w, b: F.pad(x, (1, 1, 1, 1), mode="circular"), (256, 64, 8, 1)),
    "interp_n": (lambda x, w, b: F.interpolate(x, scale_factor=2, mode="nearest"), (576, 1, 48, 4)),
    "interp_b": (lambda x, w, b: F.interpolate(x, scale_factor=2, mode="bilinear"), (576, 1, 48, 4)),
    "interp_c": (lambda x, w, b: F.interpolate(x, scale_factor=2, mode="bicubic"), (576, 1, 48, 4)),
    "pixel_shuffle": (lambda x, w, b: F.pixel_shuffle(x, 2), (144, 1, 12, 1)),
    "pixel_unshuffle": (lambda x, w, b: F.pixel_unshuffle(x, 2), (144, 1, 48, 16)),
    "chshuffle": (lambda x, w, b: F.channel_shuffle(x, 2), (144, 1, 24, 4)),
    "roll": (lambda x, w, b: torch.roll(x, 1, 2), (144, 1, 24, 4)),
    "flip": (lambda x, w, b: x.flip(2), (144, 1, 24, 4)),
    "rot90": (lambda x, w, b: torch.rot90(x, 1, (2, 3)), (144, 1, 4, 24)),
    "cumsum": (lambda x, w, b: x.cumsum(1), (144, 36, 6, 1)),
    "cumsum3": (lambda x, w, b: x.cumsum(3), (144, 36, 6, 1)),
    "sum": (lambda x, w, b: x.sum(1, keepdim=True), (36, 36, 6, 1)),
    "sum3": (lambda x, w, b: x.sum(3), (24, 6, 1)),
    "mean": (lambda x, w, b: x.mean((2, 3), keepdim=True), (4, 1, 1, 1)),
    "amax": (lambda x, w, b: x.amax(1), (36, 6, 1)),
    "clone": (lambda x, w, b: x.clone(), (144, 1, 24, 4)),
    "clone_c": (lambda x, w, b: x.clone(memory_format=torch.contiguous_format), (144, 36, 6, 1)),
    "clone_cl": (lambda x, w, b: x.contiguous().clone(memory_format=cl), (144, 1, 24, 4)),
    "to_cl": (lambda x, w, b: x.contiguous().to(memory_format=cl), (144, 1, 24, 4)),
    "to_d": (lambda x, w, b: x.to(torch.float64), (144, 1, 24, 4)),
    "to_dc": (lambda x, w, b: x.to(torch.float64, memory_format=torch.contiguous_format), (144, 36, 6, 1)),
    "contig": (lambda x, w, b: x.contiguous(), (144, 36, 6, 1)),
    "contig_cl": (lambda x, w, b: x.contiguous().contiguous(memory_format=cl), (144, 1, 24, 4)),
    "zeros_like": (lambda x, w, b: torch.zeros_like(x), (144, 1, 24, 4)),
    "zeros_like_c": (lambda x, w, b: torch.zeros_like(x, memory_format=torch.contiguous_format), (144, 36, 6, 1)),
    "ones_like_cl": (lambda x, w, b: torch.ones_like(x.contiguous(), memory_format=cl), (144, 1, 24, 4)),
    "full_like": (lambda x, w, b: torch.full_like(x, 2), (144, 1, 24, 4)),
    "new_zeros": (lambda x, w, b: x.new_zeros(x.shape), (144, 36, 6, 1)),
    "index": (lambda x, w, b: x[[0, 1]], (144, 1, 24, 4)),
    "index_select": (lambda x, w, b: x.index_select(1, torch.tensor([0, 2])), (72, 36, 6, 1)),
    "gather": (lambda x, w, b: torch.gather(x, 1, torch.zeros_like(x, dtype=torch.int64)), (144, 36, 6, 1)),
    "masked_fill": (lambda x, w, b: x.masked_fill(x > 0, 0), (144, 36, 6, 1)),
    "scatter": (lambda x, w, b: x.scatter(1, torch.zeros_like(x, dtype=torch.int64), 1.0), (144, 36, 6, 1)),
    "tril": (lambda x, w, b: x.tril(), (144, 36, 6, 1)),
    "repeat": (lambda x, w, b: x.repeat(1, 2, 1, 1), (288, 36, 6, 1)),
    "rep_int": (lambda x, w, b: x.repeat_interleave(2, 1), (288, 36, 6, 1)),
    "matmul": (lambda x, w, b: x @ x.mT, (144, 36, 6, 1)),
    "prelu": (lambda x, w, b: F.prelu(x, b), (144, 1, 24, 4)),
    "glu": (lambda x, w, b: F.glu(x, 1), (72, 1, 12, 2)),
    "unfold": (lambda x, w, b: F.unfold(x, 2), (400, 25, 1)),
    "block": (
        lambda x, w, b: F.max_pool2d(F.relu(F.batch_norm(F.conv2d(x, w, b), None, None, b, b, True)), 2),
        (16, 1, 8, 4),
    ),
    "diff": (lambda x, w, b: torch.diff(x, dim=1), (108, 1, 18, 3)),
    "mvar": (lambda x, w, b: x.var(1, keepdim=True), (36, 36, 6, 1)),
    "addcmul": (lambda x, w, b: torch.addcmul(x, x, x), (144, 1, 24, 4)),
}


def operands():
    torch.manual_seed(0)
    return torch.randn(2, 4, 6, 6).to(memory_format=cl), torch.randn(4, 4, 3, 3), torch.randn(4)


def strides(result):
    return result.stride() if isinstance(result, torch.Tensor) else tuple(strides(r) for r in result)


def values(result):
    return result.tolist() if isinstance(result, torch.Tensor) else [values(r) for r in result]


def test_results_lie_as_torchs_do():
    for name, (f, expected) in CALLS.items():
        assert strides(f(*operands())) == expected, name


def test_compiled_ones_do_too():
    for name, (f, expected) in CALLS.items():
        torch._dynamo.reset()
        result = torch.compile(f, fullgraph=True)(*operands())
        assert strides(result) == expected, name
        x, w, b = operands()
        for a, c in zip(torch.utils._pytree.tree_leaves(result), torch.utils._pytree.tree_leaves(f(x, w, b))):
            assert torch.allclose(a, c, atol=1e-5), name
        for a, c in zip(
            torch.utils._pytree.tree_leaves(result), torch.utils._pytree.tree_leaves(f(x.contiguous(), w, b))
        ):
            assert torch.allclose(a, c, atol=1e-4), name


def test_gradients_keep_the_format_of_what_they_are_for():
    for name in ("conv", "maxpool", "bn_train", "gn", "interp_b", "pad", "cat", "softmax", "block"):
        x, w, b = operands()
        x, w = x.requires_grad_(), w.requires_grad_()
        f = CALLS[name][0]
        (f(x, w, b) ** 2).sum().backward()
        plain = x.grad.clone()
        assert x.grad.stride() == x.stride(), name
        torch._dynamo.reset()
        x.grad = None
        (torch.compile(f, fullgraph=True)(x, w, b) ** 2).sum().backward()
        assert x.grad.stride() == x.stride() and torch.allclose(x.grad, plain, atol=1e-5), name
