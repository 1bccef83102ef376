"""Settings of the process that compiled code changes, and modes that decorate functions inside of it: one graph each,
with the results, and the settings left behind, of plain Python."""

import pytest

import minidynamo as torch
from minidynamo import backends

X = torch.arange(6.0).reshape(2, 3)
P = torch.ones(3, requires_grad=True)


def default_dtype(x):
    torch.set_default_dtype(torch.float64)
    y = torch.zeros(3)
    torch.set_default_dtype(torch.float32)
    return x + y, y.dtype, torch.tensor([1, 2]) / 2


def default_dtype_put_back(x):
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        y = torch.ones(3) + torch.arange(3) / 2
    finally:
        torch.set_default_dtype(before)
    return y, x * torch.ones(3)


def default_dtype_left(x):
    torch.set_default_dtype(torch.float64)
    return x + torch.zeros(3)


def default_device(x):
    torch.set_default_device("cpu")
    return x + torch.zeros(3)


def deterministic(x):
    torch.use_deterministic_algorithms(True)
    y = x + torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(False, warn_only=True)
    return y, torch.are_deterministic_algorithms_enabled()


def deterministic_left(x):
    torch.set_deterministic_debug_mode("warn")
    return x + 1


def products(x):
    torch.set_float32_matmul_precision("high")
    y = x @ x.T
    torch.set_float32_matmul_precision("highest")
    return y


def flags(x):
    backends.cudnn.benchmark = True
    y = x + backends.cudnn.benchmark + backends.mkldnn.enabled
    backends.cudnn.benchmark = False
    with backends.cudnn.flags(enabled=False, deterministic=True):
        y = y + backends.cudnn.enabled
    return y, backends.cudnn.enabled, backends.cudnn.deterministic


def flags_left(x):
    backends.cudnn.deterministic = True
    backends.cuda.matmul.allow_tf32 = True
    return x * 2


def questions(x):
    return x + backends.mha.get_fastpath_enabled() + torch.cuda.is_available() + torch.onnx.is_in_onnx_export()


def decorated_inside(x):
    @torch.no_grad()
    def without(a):
        return a * 2

    @torch.no_grad
    def bare(a, *, by):
        return a * by

    @torch.set_grad_enabled(False)
    def switched(a):
        return a * 4

    @torch.inference_mode()
    def inference(a):
        return (a * 5).sum()

    @torch.enable_grad()
    def with_gradients(a, depth=2):
        return a if depth == 0 else with_gradients(a * 2, depth - 1)

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def cast(a):
        return a @ a.T

    y = x * P
    with torch.no_grad():
        z = with_gradients(P)
    made = without(y), bare(y, by=3), switched(y), z
    return [m.requires_grad for m in made], made, inference(x), cast(x), (y * 2).requires_grad


def decorated_lambda(x):
    f = torch.no_grad()(lambda a: a * 2)
    return f(x * P).requires_grad, without.__name__, f(x)


@torch.no_grad()
def without(x):
    return x * 2


def decorated_generator(x):
    @torch.no_grad()
    def three(a):
        for i in range(3):
            yield (a * P * i).requires_grad

    return list(three(x)), (x * P).requires_grad


def left_again(x):
    with torch.inference_mode(False):
        y = x * P
    return y.requires_grad, y


@torch.inference_mode(False)
def outside(x):
    return x * P


def left_by_decorator(x):
    with torch.no_grad():
        y = outside(x)
    return y.requires_grad, y


def switched_by_hand(x):
    torch._C._set_grad_enabled(False)
    y = x * P
    torch._C._set_grad_enabled(True)
    return y.requires_grad, (x * P).requires_grad


PROGRAMS = [
    default_dtype, default_dtype_put_back, default_dtype_left, default_device, deterministic, deterministic_left,
    products, flags, flags_left, questions, decorated_inside, decorated_lambda, decorated_generator, left_again,
    left_by_decorator, switched_by_hand,
]  # fmt: skip


def state():
    return [
        torch.get_default_dtype(), torch.get_deterministic_debug_mode(), torch.get_float32_matmul_precision(),
        torch.is_grad_enabled(), backends.cudnn.deterministic, backends.cuda.matmul.allow_tf32,
    ]  # fmt: skip


def put_back():
    torch.set_default_dtype(torch.float32)
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("highest")
    torch.set_grad_enabled(True)
    backends.cudnn.deterministic = backends.cuda.matmul.allow_tf32 = False


def shown(value):
    if isinstance(value, torch.Tensor):
        return str(value.dtype), value.requires_grad, value.tolist()
    return [shown(item) for item in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_settings(program, backend):
    torch._dynamo.reset()
    try:
        before = state()
        expected = shown(program(X)), state()
        put_back()
        compiled = torch.compile(program, backend=backend, fullgraph=True)
        for _ in range(2):
            assert (shown(compiled(X)), state()) == expected
            put_back()
            assert state() == before
    finally:
        put_back()


def test_a_break_after_a_setting():
    def f(x):
        torch.set_default_dtype(torch.float64)
        y = torch.zeros(3)
        torch._dynamo.graph_break()
        z = torch.zeros(3)
        torch.set_default_dtype(torch.float32)
        return y.dtype, z.dtype, torch.zeros(3).dtype

    counted = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(f, backend=counted)
    try:
        for _ in range(2):
            assert compiled(X) == (torch.float64, torch.float64, torch.float32)
    finally:
        put_back()


def test_a_refused_setting():
    def f(x):
        try:
            torch.set_default_dtype(torch.int64)
        except TypeError as error:
            return x + 1, str(error)

    plain = f(X)[1]
    assert torch.compile(f, backend="eager", fullgraph=True)(X)[1] == plain
    assert torch.get_default_dtype() is torch.float32


@pytest.mark.parametrize("question", [torch.get_num_threads, torch.initial_seed, torch.get_default_device])
def test_questions_about_the_process_break(question):
    def f(x):
        return x + (question() is None)

    with pytest.raises(torch._dynamo.exc.Unsupported, match="GB0208|gb0208"):
        torch.compile(f, backend="eager", fullgraph=True)(X)
    assert torch.compile(f, backend="eager")(X).tolist() == X.tolist()
