"""Products on tensor cores, where a program allows another order of sums: within the bound of their formats, by the
kernels that are meant, and not at all where nothing was allowed.

The bound. Products of two float16 or bfloat16 are exact in float32, operands in tf32 are rounded to 11 bits: a product
is wrong by at most 2^-10 of itself and a little. A sum of k terms in float32, in any order and rounded either way, is
wrong by at most k 2^-23 of the sum of absolute values. The result is rounded once more.
"""

import ctypes
import json

import pytest

import minidynamo as torch

from . import child_process
from .emulated_driver import LIBRARY

EMULATOR = ctypes.CDLL(str(LIBRARY))
EMULATOR.mdEmulatorLaunches.restype = EMULATOR.mdEmulatorFindings.restype = ctypes.c_size_t
HALVES = (torch.float16, torch.bfloat16)
DTYPES = (*HALVES, torch.float32)
OPERAND = {torch.float16: 0.0, torch.bfloat16: 0.0, torch.float32: 2.0**-10 + 2.0**-20}
RESULT = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 2.0**-24}
SMALLEST = {torch.float16: 2.0**-25, torch.bfloat16: 2.0**-134, torch.float32: 2.0**-150}


@pytest.fixture(autouse=True)
def settings():
    yield
    torch.backends.cuda.matmul.fold_order = "defined"
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False


@pytest.fixture
def allowed():
    torch.backends.cuda.matmul.fold_order = "any"
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True


def asked(function):
    torch.cuda.synchronize()
    text = ctypes.create_string_buffer(1 << 20)
    function(text, ctypes.c_size_t(len(text)))
    return json.loads(text.value)


def launched(function, *given):
    """Its result, and {kernel: counts} of what it has launched."""
    torch.cuda.synchronize()
    EMULATOR.mdEmulatorReset()
    result = function(*given)
    kernels = asked(EMULATOR.mdEmulatorLaunches)
    assert asked(EMULATOR.mdEmulatorFindings) == []
    return result, kernels


def made(*shape, dtype, seed=7, **options):
    torch.manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, **options).to(dtype)


def bits(x):
    return x.dtype, x.stride(), repr(x.cpu().tolist())


def within_bound(found, function, given, terms, dtype):
    """`function`: a sum of products of its operands, which are float64s here."""
    exact = function(*[g.detach().cpu().double() for g in given])
    size = function(*[g.detach().cpu().double().abs() for g in given])
    sums = size * (OPERAND[dtype] + terms * 2.0**-23) * 1.001
    bound = sums + (exact.abs() + sums) * RESULT[dtype] + SMALLEST[dtype]
    wrong = (found.detach().cpu().double() - exact).abs() > bound
    assert found.dtype == dtype and found.is_cuda and not wrong.any(), wrong.nonzero().tolist()[:5]


def multiplied(function, *given, terms, dtype, kernel="mma_product"):
    found, kernels = launched(function, *[g.cuda() for g in given])
    assert any(name.startswith(kernel) for name in kernels), kernels
    assert not any(name.startswith("product") for name in kernels), kernels
    assert all(counts["shared_conflicts"] == 0 for name, counts in kernels.items() if name.startswith("mma"))
    within_bound(found, function, given, terms, dtype)
    return kernels


SHAPES = [(1, 1, 1), (3, 5, 4), (64, 32, 64), (65, 33, 70), (1, 100, 130), (130, 1, 2), (48, 200, 96), (97, 64, 1)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, k, n", SHAPES)
def test_sizes_and_layouts(allowed, m, k, n, dtype):
    a, b = made(m, k, dtype=dtype), made(k, n, dtype=dtype, seed=8)
    at, bt = made(k, m, dtype=dtype), made(n, k, dtype=dtype, seed=8)
    multiplied(lambda a, b: a @ b, a, b, terms=k, dtype=dtype)
    multiplied(lambda a, b: a @ b.t(), a, bt, terms=k, dtype=dtype)
    multiplied(lambda a, b: a.t() @ b, at, b, terms=k, dtype=dtype)
    multiplied(lambda a, b: a.t() @ b.t(), at, bt, terms=k, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_is_moved_in_whole_sectors(allowed, dtype):
    a, b = made(96, 64, dtype=dtype), made(64, 112, dtype=dtype, seed=8)
    for function in (lambda a, b: a @ b, lambda a, b: b.t() @ a.t(), lambda a, b: a @ a.t(), lambda a, b: b.t() @ b):
        (counts,) = multiplied(function, a, b, terms=64, dtype=dtype).values()
        assert counts["global_load_bytes"] == 32 * counts["global_load_sectors"]
    # Rows that begin anywhere touch one sector more at times.
    odd = made(97, 65, dtype=dtype)
    (counts,) = multiplied(lambda x: x.t() @ x, odd, terms=97, dtype=dtype).values()
    assert counts["global_load_bytes"] > 32 * counts["global_load_sectors"] / 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_strides(allowed, dtype):
    """Neither dimension dense, rows that begin anywhere, no stride at all, results that are no rows."""
    a, b = made(70, 90, dtype=dtype), made(90, 50, dtype=dtype, seed=8)
    multiplied(lambda a, b: a[::2, ::3] @ b[::3, ::2], a, b, terms=30, dtype=dtype)
    multiplied(lambda a, b: a[:, 1:] @ b[1:], a, b, terms=89, dtype=dtype)
    multiplied(lambda a, b: a[1:, 2:].t() @ a[1:, 5:], a, b, terms=69, dtype=dtype)
    multiplied(lambda a, b: a @ b[:, 0].expand(7, 90).t(), a, b, terms=90, dtype=dtype)
    multiplied(lambda a, b: a[0].expand(3, 90) @ b[:, 4:], a, b, terms=90, dtype=dtype)
    multiplied(lambda a, b: torch.mm(a, b, out=torch.empty(50, 70, dtype=a.dtype, device=a.device).t()), a, b,
               terms=90, dtype=dtype)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches(allowed, dtype):
    a, b = made(3, 2, 17, 40, dtype=dtype), made(2, 40, 19, dtype=dtype, seed=8)
    multiplied(torch.matmul, a, b, terms=40, dtype=dtype)
    multiplied(lambda a, b: torch.bmm(a[:, 1], b[:1].expand(3, 40, 19)), a, b, terms=40, dtype=dtype)
    multiplied(lambda a, b: torch.einsum("xbik,bkj->jxi", a, b), a, b, terms=80, dtype=dtype)
    many = made(140, 66, 20, dtype=dtype)  # enough for large tiles
    kernels = multiplied(lambda x: x @ x.mT, many, terms=20, dtype=dtype, kernel="mma_product_128_dd")
    assert len(kernels) == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_tiles(allowed, dtype):
    a, b = made(137, 130, 45, dtype=dtype), made(137, 45, 129, dtype=dtype, seed=8)
    at, bt = made(137, 45, 130, dtype=dtype), made(137, 129, 45, dtype=dtype, seed=8)
    multiplied(lambda a, b: a @ b, a, b, terms=45, dtype=dtype, kernel="mma_product_128_dc")
    multiplied(lambda a, b: a.mT @ b, at, b, terms=45, dtype=dtype, kernel="mma_product_128_rc")
    multiplied(lambda a, b: a.mT @ b.mT, at, bt, terms=45, dtype=dtype, kernel="mma_product_128_dc")


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_terms(allowed, dtype):
    found, _ = launched(torch.matmul, made(5, 0, dtype=dtype).cuda(), made(0, 7, dtype=dtype).cuda())
    assert found.tolist() == [[0.0] * 7] * 5


@pytest.mark.parametrize("dtype", DTYPES)
def test_infinities_stay_where_they_are(allowed, dtype):
    a, b = made(70, 33, dtype=dtype), made(33, 70, dtype=dtype, seed=8)
    a[3, 5], b[7, 66], a[69, 32] = float("inf"), float("nan"), -float("inf")
    found, _ = launched(torch.matmul, a.cuda(), b.cuda())
    exact = a.double() @ b.double()
    assert torch.equal(found.cpu().isnan(), exact.isnan()) and torch.equal(found.cpu().isinf(), exact.isinf())


def test_numbers_are_rounded_to_tf32(allowed):
    """To the nearest: an error twice as large would come of cutting off."""
    ones = torch.ones(1, 1, device="cuda")
    for value, rounded in ((1 + 2.0**-12, 1.0), (1 + 3 * 2.0**-12, 1 + 2.0**-10), (-1 - 2.0**-11, -1 - 2.0**-10)):
        assert (torch.full((1, 1), value, device="cuda") @ ones).item() == rounded


@pytest.mark.parametrize("dtype", DTYPES)
def test_weighted_sums_and_linear(allowed, dtype):
    x, w, bias = made(5, 9, 24, dtype=dtype), made(31, 24, dtype=dtype, seed=8), made(31, dtype=dtype, seed=9)
    linear = torch.nn.functional.linear
    found, kernels = launched(lambda: linear(x.cuda(), w.cuda(), bias.cuda()))
    assert any(name.startswith("mma_product") for name in kernels)
    expected = linear(x.double(), w.double(), bias.double())
    assert (found.cpu().double() - expected).abs().max() <= 40 * max(RESULT[dtype], OPERAND[dtype])
    a, b, c = made(20, 24, dtype=dtype), made(24, 10, dtype=dtype), made(20, 10, dtype=dtype)
    found, kernels = launched(lambda: torch.addmm(c.cuda(), a.cuda(), b.cuda(), beta=0.5, alpha=-2))
    assert any(name.startswith("mma_product") for name in kernels)
    expected = torch.addmm(c.double(), a.double(), b.double(), beta=0.5, alpha=-2)
    assert (found.cpu().double() - expected).abs().max() <= 120 * max(RESULT[dtype], OPERAND[dtype])


def gradients(function, *given):
    given = [g.detach().requires_grad_() for g in given]
    function(*given).sum().backward()
    return [g.grad for g in given]


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients(allowed, dtype):
    """Also of attention, which is made of products."""
    a, b = made(33, 40, dtype=dtype), made(40, 21, dtype=dtype, seed=8)
    (of_a, of_b), kernels = launched(gradients, torch.matmul, a.cuda(), b.cuda())
    assert sum(c["launches"] for name, c in kernels.items() if name.startswith("mma")) == 3
    ones = torch.ones(33, 21, dtype=dtype)
    within_bound(of_a, lambda g, b: g @ b.t(), (ones, b), 21, dtype)
    within_bound(of_b, lambda a, g: a.t() @ g, (a, ones), 33, dtype)
    q, k, v = (made(2, 3, 20, 16, dtype=dtype, seed=s) for s in range(3))
    attention = torch.nn.functional.scaled_dot_product_attention
    found, kernels = launched(gradients, attention, q.cuda(), k.cuda(), v.cuda())
    assert any(name.startswith("mma_product") for name in kernels)
    for one, exact in zip(found, gradients(attention, q.double(), k.double(), v.double())):
        assert (one.cpu().double() - exact).abs().max() <= 64 * max(RESULT[dtype], OPERAND[dtype])


CONVOLUTIONS = {
    "plain": ((2, 5, 13, 11), (9, 5, 3, 4), {}),
    "strides": ((3, 4, 17, 12), (16, 4, 3, 3), {"stride": (2, 3), "padding": (1, 2), "dilation": (2, 1)}),
    "groups": ((2, 16, 9, 9), (70, 8, 3, 3), {"groups": 2, "padding": 1}),
    "points": ((1, 70, 8, 9), (65, 70, 1, 1), {}),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(allowed, name, dtype):
    """Halves too, which are computed in float32: tf32 holds them exactly."""
    shape, weights, options = CONVOLUTIONS[name]
    x, w = made(*shape, dtype=dtype), made(*weights, dtype=dtype, seed=8)
    terms = w[0].numel()

    def convolved(x, w):
        return torch.nn.functional.conv2d(x, w, **options)

    multiplied(convolved, x, w, terms=terms, dtype=dtype, kernel="mma_convolution")
    multiplied(lambda x, w: convolved(x.mT, w.mT), x, w, terms=terms, dtype=dtype, kernel="mma_convolution")
    last = x.to(memory_format=torch.channels_last)
    multiplied(convolved, last, w, terms=terms, dtype=dtype, kernel="mma_convolution")


@pytest.mark.parametrize("dtype", DTYPES)
def test_convolutions_of_other_ranks(allowed, dtype):
    x, w = made(3, 4, 50, dtype=dtype), made(12, 4, 5, dtype=dtype, seed=8)
    multiplied(lambda x, w: torch.nn.functional.conv1d(x, w, padding=2), x, w, terms=20, dtype=dtype,
               kernel="mma_convolution")  # fmt: skip
    x, w = made(2, 3, 6, 5, 7, dtype=dtype), made(10, 3, 2, 3, 2, dtype=dtype, seed=8)
    multiplied(lambda x, w: torch.nn.functional.conv3d(x, w, padding=1), x, w, terms=36, dtype=dtype,
               kernel="mma_convolution")  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_convolutions(allowed, dtype):
    x, w = made(2, 8, 10, 9, dtype=dtype), made(12, 8, 3, 3, dtype=dtype, seed=8)
    function = torch.nn.functional.conv2d
    found, kernels = launched(gradients, function, x.cuda(), w.cuda())
    assert any(name.startswith("mma_convolution") for name in kernels), kernels
    for one, exact, terms in zip(found, gradients(function, x.double(), w.double()), (108, 112)):
        assert (one.cpu().double() - exact).abs().max() <= terms * max(RESULT[dtype], OPERAND[dtype])


def test_ways_to_allow_tf32_convolutions():
    x, w = made(2, 8, 9, 9, dtype=torch.float32), made(16, 8, 3, 3, dtype=torch.float32, seed=8)
    convolved = torch.nn.functional.conv2d
    cudnn = torch.backends.cudnn

    def is_used():
        found, kernels = launched(convolved, x.cuda(), w.cuda())
        used = any(name.startswith("mma_convolution") for name in kernels)
        assert used or bits(found) == bits(convolved(x, w))
        return used

    assert not is_used()
    torch.set_float32_matmul_precision("high")
    assert not is_used()
    cudnn.allow_tf32 = True
    assert is_used()
    with cudnn.flags(allow_tf32=False):
        assert not is_used()
    assert is_used()
    cudnn.conv.fp32_precision = "ieee"
    with cudnn.flags(deterministic=True):
        assert not is_used()
    cudnn.conv.fp32_precision = "tf32"
    assert is_used()


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_changes_unless_it_is_allowed(dtype):
    a, b = made(65, 50, dtype=dtype), made(50, 70, dtype=dtype, seed=8)
    found, kernels = launched(torch.matmul, a.cuda(), b.cuda())
    assert not any(name.startswith("mma") for name in kernels) and bits(found) == bits(a @ b)
    # One setting is for halves, the others for float32.
    if dtype == torch.float32:
        torch.backends.cuda.matmul.fold_order = "any"
    else:
        torch.set_float32_matmul_precision("medium")
    found, kernels = launched(torch.matmul, a.cuda(), b.cuda())
    assert not any(name.startswith("mma") for name in kernels) and bits(found) == bits(a @ b)


@pytest.mark.parametrize("dtype", (torch.float64, torch.int32, torch.int8))
def test_other_dtypes_keep_their_products(allowed, dtype):
    a, b = made(65, 50, dtype=dtype), made(50, 70, dtype=dtype, seed=8)
    found, kernels = launched(torch.matmul, a.cuda(), b.cuda())
    assert not any(name.startswith("mma") for name in kernels) and bits(found) == bits(a @ b)


WAYS = {
    "high": lambda: torch.set_float32_matmul_precision("high"),
    "medium": lambda: torch.set_float32_matmul_precision("medium"),
    "allow_tf32": lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True),
    "fp32_precision": lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "tf32"),
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_allow_tf32(way):
    a = made(40, 40, dtype=torch.float32).cuda()
    compiled = torch.compile(lambda a: (a @ a).relu(), fullgraph=True)
    for function in (torch.matmul, lambda a, _: compiled(a)):
        for allow in (False, True, False):
            WAYS[way]() if allow else torch.set_float32_matmul_precision("highest")
            _, kernels = launched(function, a, a)
            assert any(name.startswith("mma_product") for name in kernels) is allow


def test_a_precision_for_everything():
    a = made(8, 8, dtype=torch.float32).cuda()
    torch.backends.cuda.matmul.fp32_precision = "none"
    try:
        torch.backends.fp32_precision = "tf32"
        assert any(name.startswith("mma") for name in launched(torch.matmul, a, a)[1])
        torch.backends.cuda.matmul.fp32_precision = "ieee"
        assert not any(name.startswith("mma") for name in launched(torch.matmul, a, a)[1])
    finally:
        torch.backends.fp32_precision = "none"


def test_fold_order():
    with pytest.raises(RuntimeError, match="fold_order"):
        torch.backends.cuda.matmul.fold_order = "random"
    assert torch.backends.cuda.matmul.fold_order == "defined"


def test_a_compiled_graph_follows_the_settings():
    """Once compiled: kernels are chosen at each call."""
    counted = torch._dynamo.testing.CompileCounterWithBackend("inductor")
    compiled = torch.compile(lambda x, w: torch.nn.functional.gelu(x @ w), backend=counted, fullgraph=True)
    x, w = made(33, 20, dtype=torch.float16).cuda(), made(20, 17, dtype=torch.float16, seed=8).cuda()
    for order in ("defined", "any", "defined"):
        torch.backends.cuda.matmul.fold_order = order
        found, kernels = launched(compiled, x, w)
        assert any(name.startswith("mma_product") for name in kernels) is (order == "any")
        assert order == "any" or bits(found) == bits(torch.nn.functional.gelu(x.cpu() @ w.cpu()))
    assert counted.frame_count == 1


def switching(a):
    torch.backends.cuda.matmul.allow_tf32 = True
    b = a @ a
    torch.backends.cuda.matmul.allow_tf32 = False
    return b, a @ a


def test_settings_within_a_graph():
    a = made(40, 40, dtype=torch.float32).cuda()
    plain = [bits(x) for x in switching(a)]
    assert plain[0] != plain[1]
    found, kernels = launched(torch.compile(switching, fullgraph=True), a)
    assert [bits(x) for x in found] == plain
    assert {name.split("_")[0] for name in kernels} >= {"mma", "product"}
    assert torch.backends.cuda.matmul.allow_tf32 is False


def test_a_module_in_halves_trains(allowed):
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(20, 48), torch.nn.ReLU(), torch.nn.Linear(48, 5)).cuda()
    step = torch.compile(lambda x: model(x).square().mean())
    x = torch.randn(30, 20, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(3):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = step(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[2] < losses[1] < losses[0]


@pytest.mark.parametrize("name", child_process.programs_of("tensor_core_programs"))
def test_an_early_device(name):
    child_process.run("tensor_core_programs", name, MINIDYNAMO_EMULATOR_DEVICES="sm_75:1G,sm_90:1G")
