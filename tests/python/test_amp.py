"""autocast and GradScaler. Result dtypes are those of torch 2.13 on the CPU."""

import copy
import pickle
import threading

import pytest

import minidynamo as torch
from minidynamo import nn

F = nn.functional
f32, f64, f16, bf16 = torch.float32, torch.float64, torch.float16, torch.bfloat16


def filled(*sizes):
    torch.manual_seed(len(sizes))
    return torch.rand(*sizes) * 0.5 + 0.1


LABELS = torch.tensor([0, 1])
# In the region's dtype.
LOWER = {
    "@": (lambda a, b: a @ b, (3, 3), (3, 3)),
    "mm": (lambda a, b: torch.mm(a, b), (3, 3), (3, 3)),
    "method mm": (lambda a, b: a.mm(b), (3, 3), (3, 3)),
    "matmul": (lambda a, b: torch.matmul(a, b), (3, 3), (3,)),
    "matmul of vectors": (lambda a, b: a.matmul(b), (3,), (3,)),
    "bmm": (lambda a, b: torch.bmm(a, b), (2, 3, 3), (2, 3, 3)),
    "addmm": (lambda a, b: torch.addmm(a, b, a), (3, 3), (3, 3)),
    "baddbmm": (lambda a, b: torch.baddbmm(a, b, b), (2, 3, 3), (2, 3, 3)),
    "addbmm": (lambda a, b: torch.addbmm(a, b, b), (3, 3), (2, 3, 3)),
    "linear": (lambda a, b: F.linear(a, b, b[0]), (3, 3), (3, 3)),
    "conv1d": (lambda a, b: F.conv1d(a, b), (1, 2, 5), (3, 2, 3)),
    "conv2d": (lambda a, b: F.conv2d(a, b), (1, 2, 5, 5), (3, 2, 3, 3)),
    "conv3d": (lambda a, b: torch.conv3d(a, b), (1, 2, 4, 4, 4), (3, 2, 3, 3, 3)),
    "conv_transpose1d": (lambda a, b: F.conv_transpose1d(a, b), (1, 2, 5), (2, 3, 3)),
    "conv_transpose2d": (lambda a, b: F.conv_transpose2d(a, b), (1, 2, 5, 5), (2, 3, 3, 3)),
    "prelu": (lambda a, b: F.prelu(a, b), (2, 3), (3,)),
    "attention": (lambda a, b: F.scaled_dot_product_attention(a, b, b), (1, 2, 4, 4), (1, 2, 4, 4)),
    "einsum": (lambda a, b: torch.einsum("ij,jk->ik", a, b), (3, 3), (3, 3)),
    "einsum of letters left out": (lambda a, b: torch.einsum("ij,ij", a, b), (3, 3), (3, 3)),
}
# In float32, also of narrow operands.
WIDEN = {
    "mse": lambda a: F.mse_loss(a, a),
    "l1": lambda a: F.l1_loss(a, a * 2),
    "smooth_l1": lambda a: F.smooth_l1_loss(a, a),
    "huber": lambda a: F.huber_loss(a, a),
    "kl_div": lambda a: F.kl_div(a, a),
    "bce": lambda a: F.binary_cross_entropy(a, a),
    "bce with logits": lambda a: F.binary_cross_entropy_with_logits(a, a),
    "nll": lambda a: F.nll_loss(a, LABELS),
    "cross_entropy": lambda a: F.cross_entropy(a, LABELS),
    "cross_entropy of a module": lambda a: nn.CrossEntropyLoss()(a, LABELS),
    "prod": lambda a: a.prod(),
    "trace": lambda a: torch.trace(a),
    "quantile": lambda a: torch.quantile(a.flatten(), 0.5),
    "cdist": lambda a: torch.cdist(a, a),
    "avg_pool3d": lambda a: F.avg_pool3d(a.expand(1, 2, 2, 2, 2), 2),
    "max_pool3d": lambda a: F.max_pool3d(a.expand(1, 2, 2, 2, 2), 2),
}
# As without autocast.
KEEP = {
    "softmax": lambda a: F.softmax(a, 1),
    "log_softmax": lambda a: F.log_softmax(a, 1),
    "layer_norm": lambda a: F.layer_norm(a, (2,)),
    "relu": lambda a: torch.relu(a),
    "sum": lambda a: a.sum(),
    "exp": lambda a: a.exp(),
    "mv": lambda a: torch.mv(a, a[0]),
    "dot": lambda a: torch.dot(a[0], a[1]),
    "outer": lambda a: torch.einsum("i,j->ij", a[0], a[1]),
    "diagonal": lambda a: torch.einsum("ii->i", a),
    "cat": lambda a: torch.cat([a, a]),
    "inner of vectors": lambda a: torch.inner(a[0], a[1]),
    "in place": lambda a: a.clone().addmm_(a, a),
    "max_pool2d": lambda a: F.max_pool2d(a[None, None], 2),
    "constant pad": lambda a: F.pad(a, (1, 1)),
}


@pytest.mark.parametrize("dtype", [bf16, f16])
@pytest.mark.parametrize("name", LOWER)
def test_products_are_computed_in_the_dtype_of_the_region(name, dtype):
    call, *sizes = LOWER[name]
    a, b = (filled(*s) for s in sizes)
    with torch.autocast("cpu", dtype):
        for x, y in ((a, b), (a.to(dtype), b), (a, b.to(dtype)), (a.half(), b)):
            found = call(x, y)
            assert found.dtype == dtype
        assert call(a.double(), b.double()).dtype == f64
    assert torch.equal(call(a, b.clone()), call(a, b)) and call(a, b).dtype == f32
    assert torch.allclose(found.float(), call(a, b), rtol=0.05)


@pytest.mark.parametrize("name", WIDEN)
def test_losses_are_computed_in_float32(name):
    a = filled(2, 2)
    with torch.autocast("cpu"):
        for x in (a, a.bfloat16(), a.half()):
            assert WIDEN[name](x).dtype == f32
        assert WIDEN[name](a.double()).dtype == f64
    assert torch.allclose(WIDEN[name](a), WIDEN[name](a.double()).float())


@pytest.mark.parametrize("name", KEEP)
def test_others_keep_their_dtypes(name):
    a = filled(2, 2)
    with torch.autocast("cpu"):
        for x in (a, a.bfloat16(), a.double()):
            assert KEEP[name](x).dtype == x.dtype


def test_what_promotes_and_what_does_not():
    a, index = filled(3), torch.tensor([0, 1, 2])
    with torch.autocast("cpu"):
        assert torch.index_copy(a, 0, index, a.bfloat16()).dtype == f32
        assert torch.cat([a, a.bfloat16()]).dtype == f32
        with pytest.raises(RuntimeError):
            torch.mm(a.expand(3, 3), a.expand(3, 3).double())
        out = torch.empty(3, 3)
        assert torch.mm(a.expand(3, 3), a.expand(3, 3), out=out) is out and out.dtype == f32
    with pytest.raises(RuntimeError):
        torch.index_copy(a, 0, index, a.bfloat16())


def test_a_transformer_layer_trains():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    x = filled(3, 2, 8)
    with torch.autocast("cpu"):
        out = layer(x)
        loss = out.float().square().mean()
    loss.backward()
    assert out.dtype == f32 and all(p.grad.dtype == f32 for p in layer.parameters())
    grads = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    layer(x).square().mean().backward()
    for found, p in zip(grads, layer.parameters()):
        assert (found - p.grad).abs().max() < 0.05 * p.grad.abs().max() + 1e-3


def test_convolutions_with_norms_train():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(18, 3))
    with torch.autocast("cpu"):
        out = model(filled(2, 1, 5, 5))
        loss = F.cross_entropy(out, LABELS)
    assert out.dtype == bf16 and loss.dtype == f32
    loss.backward()
    assert all(p.grad.dtype == f32 and p.grad.isfinite().all() for p in model.parameters())


def test_regions_nest_and_end():
    a = filled(2, 2)
    assert not torch.is_autocast_enabled("cpu")
    with torch.autocast("cpu"):
        assert torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled()
        with torch.autocast("cpu", enabled=False):
            assert (a @ a).dtype == f32
            with torch.autocast("cpu", dtype=f16):
                assert (a @ a).dtype == f16 == torch.get_autocast_dtype("cpu")
            assert (a @ a).dtype == f32
        assert (a @ a).dtype == bf16
    with pytest.raises(KeyError), torch.autocast("cpu"):
        raise KeyError
    assert not torch.is_autocast_enabled("cpu") and (a @ a).dtype == f32
    with torch.inference_mode(), torch.autocast("cpu"):
        assert (a @ a).dtype == bf16


def test_kept_functions_and_methods():
    mm, method, linear = torch.mm, torch.Tensor.mm, F.linear
    a = filled(2, 2)
    with torch.autocast("cpu"):
        assert [f(a, a).dtype for f in (mm, method, linear)] == [bf16] * 3
    assert [f(a, a).dtype for f in (mm, method, linear)] == [f32] * 3


def test_modes_see_what_the_program_calls():
    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    seen, a = [], filled(2, 2)
    with torch.autocast("cpu"), Log():
        made = a @ a
    assert made.dtype == bf16 and seen == ["matmul"]


def test_decorators():
    a = filled(2, 2)

    @torch.autocast("cpu")
    def product(x, times=1):
        """Doc."""
        return product(x, times - 1) if times else x @ x

    assert product(a, times=2).dtype == bf16 and product.__doc__ == "Doc." and (a @ a).dtype == f32
    assert torch.autocast("cpu", enabled=False)(lambda: (a @ a).dtype)() == f32


def test_threads_have_their_own():
    a, found, inside, leave = filled(2, 2), [], threading.Event(), threading.Event()

    def other():
        found.append((a @ a).dtype)
        with torch.autocast("cpu"):
            inside.set()
            leave.wait(10)
            found.append((a @ a).dtype)

    with torch.autocast("cpu"):
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait(10)
    assert (a @ a).dtype == f32
    leave.set()
    thread.join()
    assert found == [f32, bf16] and (a @ a).dtype == f32


def test_casts_of_parameters_are_kept_in_a_region():
    from minidynamo.amp import _casts

    weight, x = nn.Parameter(filled(2, 2)), filled(2, 2)
    with torch.autocast("cpu"):
        (x @ weight).float().sum().backward()
        assert len(_casts.state.cache) == 1
        x @ weight
        assert len(_casts.state.cache) == 1
        torch.clear_autocast_cache()
        assert not _casts.state.cache
        with torch.no_grad():
            x @ weight
        assert not _casts.state.cache
        (x @ weight + x @ weight).float().sum().backward()
    assert not _casts.state.cache
    single = torch.ones(2, 2) @ torch.ones(2, 2)
    assert weight.grad.shape == single.shape and torch.allclose(
        weight.grad, 3 * x.sum(0)[:, None].expand(2, 2), rtol=0.02
    )
    with torch.autocast("cpu", cache_enabled=False):
        x @ weight
        assert not _casts.state.cache and not torch.is_autocast_cache_enabled()
    assert torch.is_autocast_cache_enabled()


def test_settings():
    a = filled(2, 2)
    torch.set_autocast_enabled("cpu", True)
    try:
        assert (a @ a).dtype == bf16
        torch.set_autocast_dtype("cpu", f16)
        assert (a @ a).dtype == f16
    finally:
        torch.set_autocast_dtype("cpu", bf16)
        torch.set_autocast_enabled("cpu", False)
    assert (a @ a).dtype == f32
    assert torch.get_autocast_dtype("cuda") == f16 and torch.get_autocast_dtype("cpu") == bf16
    assert torch.amp.is_autocast_available("cpu") and not torch.amp.is_autocast_available("meta")
    assert torch.autocast is torch.amp.autocast is torch.amp.autocast_mode.autocast
    assert (torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()) == (1, 0)
    with pytest.warns(DeprecationWarning):
        assert torch.is_autocast_cpu_enabled() is False
    with pytest.warns(DeprecationWarning):
        assert torch.get_autocast_cpu_dtype() == bf16


@pytest.mark.parametrize(
    "make, kind",
    [
        (lambda: torch.autocast(), TypeError),
        (lambda: torch.autocast(3), ValueError),
        (lambda: torch.autocast(torch.device("cpu")), ValueError),
        (lambda: torch.autocast("toaster"), RuntimeError),
        (lambda: torch.autocast("meta"), RuntimeError),
        (lambda: torch.is_autocast_enabled("toaster"), RuntimeError),
        (lambda: torch.amp.is_autocast_available(3), TypeError),
        (lambda: torch.amp.custom_fwd(print), TypeError),
        (lambda: torch.amp.custom_fwd(print, device_type=3), ValueError),
        (lambda: torch.amp.GradScaler("cpu", growth_factor=0.5), AssertionError),
        (lambda: torch.amp.GradScaler("cpu", backoff_factor=2.0), AssertionError),
        (lambda: torch.amp.GradScaler("cpu").scale(3), ValueError),
        (lambda: torch.amp.GradScaler("cpu").update(), AssertionError),
        (lambda: torch.amp.GradScaler("cpu").load_state_dict({}), RuntimeError),
    ],
)
def test_refusals(make, kind):
    with pytest.raises(kind):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.autocast("cuda"),
        lambda: torch.autocast("cuda", dtype=f16),
        lambda: torch.cuda.amp.autocast(),
        lambda: torch.autocast("cpu", dtype=f32),
        lambda: torch.autocast("cpu", dtype=torch.int32),
        lambda: torch.amp.GradScaler(),
        lambda: torch.GradScaler("cuda"),
        lambda: torch.cuda.amp.GradScaler(),
    ],
)
def test_what_cannot_be_had_is_disabled_with_a_warning(make):
    with pytest.warns((UserWarning, FutureWarning)):
        made = make()
    assert not made._enabled
    if isinstance(made, torch.autocast):
        with made:
            assert (filled(2, 2) @ filled(2, 2)).dtype == f32


def test_older_names_work_for_the_cpu():
    with pytest.warns(FutureWarning), torch.cpu.amp.autocast():
        assert (filled(2, 2) @ filled(2, 2)).dtype == bf16
    with pytest.warns(FutureWarning):
        assert torch.cpu.amp.GradScaler().is_enabled()
    assert torch.cuda.amp.common.amp_definitely_not_available()


@pytest.mark.parametrize("cast_inputs", [None, f32])
def test_functions_with_custom_fwd(cast_inputs):
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx, x, others):
            seen.append((torch.is_autocast_enabled("cpu"), x.dtype, others["w"][0].dtype))
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            seen.append((torch.is_autocast_enabled("cpu"), (grad.float() @ grad.float()).dtype))
            return grad * 2, None

    x = filled(2, 2).bfloat16().requires_grad_()
    with torch.autocast("cpu"):
        out = Product.apply(x, {"w": [x.detach()], "name": "s"})
    out.float().sum().backward()
    inside = (True, bf16, bf16) if cast_inputs is None else (False, f32, f32)
    assert seen == [inside, (True, bf16) if cast_inputs is None else (False, f32)]
    assert x.grad.dtype == bf16


def test_compiled_functions_follow_the_region_around_them():
    model = nn.Linear(3, 3)
    compiled, x = torch.compile(model), filled(2, 3)
    plain = compiled(x)
    with torch.autocast("cpu"):
        assert compiled(x).dtype == bf16
    again = compiled(x)
    assert again.dtype == f32 and torch.equal(plain, again)

    @torch.autocast("cpu")
    def product(x):
        return x @ x.t()

    both = torch.compile(lambda x: (product(x), x @ x.t()))
    assert [t.dtype for t in both(x)] == [bf16, f32] == [t.dtype for t in both(x)]
    assert torch.compile(product)(x).dtype == bf16


# --- GradScaler


def scaled_step(scaler, optimizer, parameter, factors, **more):
    optimizer.zero_grad()
    scaler.scale((parameter * torch.tensor(factors)).sum()).backward()
    return scaler.step(optimizer, **more)


def trained():
    parameter = nn.Parameter(torch.ones(2))
    return parameter, torch.optim.SGD([parameter], lr=1.0)


def test_steps_are_taken_with_unscaled_gradients():
    parameter, optimizer = trained()
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    scaled_step(scaler, optimizer, parameter, [0.5, 0.25])
    assert parameter.tolist() == [0.5, 0.75] and parameter.grad.tolist() == [0.5, 0.25]
    for call in (lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer)):
        with pytest.raises(RuntimeError):
            call()
    scaler.update()
    assert scaler.get_scale() == 8.0 and scaler.state_dict()["_growth_tracker"] == 1
    scaled_step(scaler, optimizer, parameter, [0.5, 0.25])
    scaler.update()
    assert scaler.get_scale() == 16.0 and scaler.state_dict()["_growth_tracker"] == 0


@pytest.mark.parametrize("wrong", [float("inf"), float("nan")])
def test_steps_are_left_out_where_gradients_are_not_finite(wrong):
    parameter, optimizer = trained()
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    assert scaled_step(scaler, optimizer, parameter, [wrong, 1.0]) is None
    assert parameter.tolist() == [1.0, 1.0]
    scaler.update()
    assert scaler.get_scale() == 4.0


def test_unscale_for_clipping():
    parameter, optimizer = trained()
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale((parameter * 3).sum()).backward()
    assert parameter.grad.tolist() == [3 * 65536.0] * 2
    scaler.unscale_(optimizer)
    assert parameter.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="twice"):
        scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_([parameter], 1.0)
    scaler.step(optimizer)
    assert torch.allclose(parameter, torch.full((2,), 1 - 0.5**0.5))


def test_scales_can_be_set_and_kept():
    parameter, optimizer = trained()
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    tensors = scaler.scale([torch.ones(2), (torch.ones(1, dtype=bf16),)])
    assert tensors[0].tolist() == [4.0, 4.0] and tensors[1][0].dtype == bf16
    scaler.update(3.0)
    assert scaler.get_scale() == 3.0
    scaler.update(torch.tensor(5.0))
    assert scaler.get_scale() == 5.0
    saved = scaler.state_dict()
    assert saved == {
        "scale": 5.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2000,
        "_growth_tracker": 0,
    }
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(saved)
    assert other.get_scale() == 5.0 and other.scale(torch.ones(1)).item() == 5.0
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == copy.deepcopy(scaler).get_scale() == 5.0
    scaled_step(scaler, optimizer, parameter, [1.0, 1.0])
    with pytest.raises(AssertionError):
        pickle.dumps(scaler)
    with pytest.raises(RuntimeError, match="closure"):
        scaler.step(optimizer, closure=lambda: 1.0)


def test_calls_out_of_order():
    parameter, optimizer = trained()
    for call in ("step", "unscale_"):
        with pytest.raises(AssertionError):
            getattr(torch.amp.GradScaler("cpu"), call)(optimizer)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(parameter.sum())
    with pytest.raises(AssertionError):
        scaler.step(optimizer)  # no gradient at all
    with pytest.raises(AssertionError):
        scaler.update()
    half = nn.Parameter(torch.ones(2, dtype=f16))
    half.grad = torch.ones(2, dtype=f16)
    with pytest.raises(ValueError, match="float16"):
        scaler.unscale_(torch.optim.SGD([half], lr=1.0))


def test_disabled_ones_do_nothing():
    parameter, optimizer = trained()
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    loss = (parameter * 2).sum()
    assert scaler.scale(loss) is loss and scaler.scale(3) == 3 and scaler.get_scale() == 1.0
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    scaler.load_state_dict({})
    assert parameter.tolist() == [-1.0, -1.0] and scaler.state_dict() == {}
