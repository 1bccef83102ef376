"""Operators of the program's own: called in plain Python, traced as one node, refused with a reason."""

import gc
import sys

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import Seen, codes, same
from minidynamo._dynamo.testing import CompileCounter, EagerAndRecordGraphs

pytestmark = pytest.mark.smoke


@torch.library.custom_op("marktest::square", mutates_args=())
def square(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.square(x.numpy()))


@square.register_fake
def _(x):
    return x.new_empty(x.size())


@torch.library.custom_op("marktest::split_sum", mutates_args=())
def split_sum(x: torch.Tensor, parts: int, scale: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    rows = x.numpy()[: x.shape[0] // parts]
    return torch.from_numpy(rows * scale), torch.from_numpy(np.atleast_1d(rows.sum()).astype("float64"))


@split_sum.register_fake
def _(x, parts, scale=1.0):
    return x.new_empty((x.shape[0] // parts, *x.shape[1:])), x.new_empty(1, dtype=torch.float64)


@torch.library.custom_op("marktest::add_into", mutates_args={"out"})
def add_into(x: torch.Tensor, out: torch.Tensor, *, times: int = 1) -> None:
    out.numpy()[...] += x.numpy() * times


@torch.library.custom_op("marktest::concat", mutates_args=())
def concat(xs: list[torch.Tensor]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate([x.numpy() for x in xs]))


@concat.register_fake
def _(xs):
    return torch.cat(xs)


ALL = ("eager", "llvm", "blocks")


def data(*shape):
    return torch.from_numpy(np.linspace(-1, 1, int(np.prod(shape)), dtype="float32").reshape(shape))


CASES = {
    "one tensor": (lambda x: square(x * 2) + 1, lambda: (data(3, 4),), 3),
    "by name": (
        lambda x: torch.ops.marktest.square(x) + torch.ops.marktest.square.default(x),
        lambda: (data(5),),
        3,
    ),
    "a tuple": (lambda x: split_sum(x + 1, 2, scale=3.0), lambda: (data(6, 2),), 4),
    "a list": (lambda x, y: concat([x, y * 2]).sum(), lambda: (data(2), data(3)), 3),
    "a strided operand": (lambda x: square(x.T)[0] * x[:, 1], lambda: (data(3, 4),), 5),
    "between others": (lambda x: square(square(x).sum(0, keepdim=True) + x).cos(), lambda: (data(4, 3),), 5),
}


@pytest.mark.parametrize("name", CASES)
def test_traced_is_one_node(name):
    function, make, ops = CASES[name]
    same(function, make, frames=1, ops=ops, breaks=(), backends=ALL)


def writes(x):
    out = torch.zeros_like(x)
    add_into(x, out, times=2)
    add_into(x, x)
    return out * 2, x + out


def writes_to_a_view(x):
    add_into(x[0].clone(), x[1])
    add_into(x[:, 0].clone(), x[:, 1])
    return x.sum(0)


@pytest.mark.parametrize("function", [writes, writes_to_a_view])
def test_written_arguments(function):
    same(function, lambda: (data(3, 3),), frames=1, breaks=(), backends=ALL)


def test_results_require_grad_as_operands_do():
    @torch.library.custom_op("marktest::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.detach().numpy() * 2)

    doubled.register_fake(lambda x: torch.empty_like(x))
    for wanted in (True, False):
        x = data(3)
        x.requires_grad = wanted
        for f in (
            doubled,
            torch.compile(lambda t: doubled(t)),
            torch.compile(lambda t: doubled(t) * 2, backend="eager"),
        ):
            assert f(x).requires_grad is wanted
            with torch.no_grad():
                assert f(x).requires_grad is False


def test_the_version_counts_one_write():
    x = data(3)
    before = x._version
    add_into(x.clone(), x)
    assert x._version == before + 1
    compiled = torch.compile(lambda a: add_into(a.clone(), a), backend="llvm")
    compiled(x)
    assert x._version == before + 2


def test_sizes_stay_symbols():
    counter = CompileCounter()

    def f(x):
        a, b = split_sum(x, 2)
        return square(a) * x.shape[0], b

    compiled, fused = torch.compile(f, backend=counter), torch.compile(f)
    for n in (4, 6, 8, 10):
        for g in (compiled, fused):
            got, want = g(data(n, 3)), f(data(n, 3))
            assert [t.tolist() for t in got] == [t.tolist() for t in want]
    assert counter.frame_count == 2


def test_writing_does_not_settle_sizes():
    counter = CompileCounter()

    def f(x):
        out = torch.zeros_like(x)
        add_into(x, out)
        return out + 1

    g, h = torch.compile(f, backend=counter), torch.compile(f)
    for n in (3, 4, 5, 6):
        assert g(data(n)).tolist() == h(data(n)).tolist() == (data(n) + 1).tolist()
    assert counter.frame_count == 2


def test_the_graph_names_the_operator():
    backend = EagerAndRecordGraphs()
    torch.compile(lambda x: square(x) + torch.ops.marktest.square(x), backend=backend)(data(2))
    code = backend.graphs[0].code
    assert "square_default = torch.ops.marktest.square.default(l_x_)" in code
    assert "square = torch.ops.marktest.square(l_x_)" in code
    targets = [n.target for n in backend.graphs[0].graph.nodes if n.op == "call_function"]
    assert targets[0] is torch.ops.marktest.square.default


def test_without_a_fake_implementation_it_breaks():
    @torch.library.custom_op("marktest::no_fake", mutates_args=())
    def no_fake(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    same(lambda x: no_fake(x + 1) - 1, lambda: (data(3),), breaks=["GB0090"], frames=2)


def test_an_unfinished_fake_implementation_breaks():
    @torch.library.custom_op("marktest::unfinished", mutates_args=())
    def unfinished(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @unfinished.register_fake
    def _(x):
        raise NotImplementedError("later")

    same(lambda x: unfinished(x + 1) - 1, lambda: (data(3),), breaks=["GB0087"], frames=2)


def test_a_fake_implementation_that_raises():
    @torch.library.custom_op("marktest::raising_fake", mutates_args=())
    def raising_fake(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @raising_fake.register_fake
    def _(x):
        raise ValueError("no such shape")

    f = torch.compile(lambda x: raising_fake(x + 1), fullgraph=True)
    with pytest.raises(torch._dynamo.exc.TorchRuntimeError, match="no such shape") as error:
        f(data(2))
    assert "test_custom_ops.py" in str(error.value)
    assert torch.compile(lambda x: raising_fake(x + 1))(data(2)).tolist() == (data(2) * 2 + 2).tolist()


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("lie", [lambda x: x.new_empty(x.shape[0] + 1), lambda x: x.new_empty(x.size()).double()])
def test_a_fake_implementation_that_lies(lie, backend):
    @torch.library.custom_op("marktest::lying", mutates_args=())
    def lying(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    lying.register_fake(lie)
    f = torch.compile(lambda x: lying(x + 1) * 2, backend=backend)
    with pytest.raises(torch._dynamo.exc.TorchRuntimeError, match=r"marktest::lying returned f32\[3\]") as error:
        f(data(3))
    assert "test_custom_ops.py" in str(error.value)
    lying.register_fake(lambda x: torch.empty_like(x))
    torch._dynamo.reset()
    assert f(data(3)).tolist() == ((data(3) + 1) * 4).tolist()


def test_an_exception_of_the_function():
    @torch.library.custom_op("marktest::positive_only", mutates_args=())
    def positive_only(x: torch.Tensor) -> torch.Tensor:
        if x.numpy().min() < 0:
            raise ValueError("negative")
        return x * 2

    positive_only.register_fake(lambda x: torch.empty_like(x))

    def f(x, log):
        x += 1
        log.append("before")
        y = positive_only(x)
        log.append("after")
        return y

    same(f, lambda: (data(3) + 5, []), frames=1)
    plain, compiled = (Seen(g, (data(3) - 5, []), {}).summary() for g in (f, torch.compile(f)))
    assert plain == compiled and plain["error"][:2] == ("ValueError", "negative")
    for backend in ("eager", "llvm"):
        with pytest.raises(ValueError, match="negative"):
            torch.compile(lambda x: positive_only(x * 2), backend=backend)(data(3))


def test_a_result_that_is_an_argument():
    @torch.library.custom_op("marktest::identity", mutates_args=())
    def identity(x: torch.Tensor) -> torch.Tensor:
        return x[:1]

    identity.register_fake(lambda x: torch.empty_like(x[:1]))
    for f in (identity, torch.compile(identity), torch.compile(lambda x: identity(x) + 1, backend="eager")):
        with pytest.raises(RuntimeError, match="must not also be an input"):
            f(data(3))


def test_what_it_keeps_is_left_alone():
    kept = []

    @torch.library.custom_op("marktest::keeping", mutates_args=())
    def keeping(x: torch.Tensor) -> torch.Tensor:
        kept.append(x)
        return x * 2

    keeping.register_fake(lambda x: torch.empty_like(x))

    @torch.compile
    def f(x):
        y = keeping(x + 1)
        for _ in range(5):
            y = (y @ y).softmax(0)
        return y

    x = data(8, 8)
    f(x)
    f(x * 3)
    assert kept[0].tolist() == (x + 1).tolist()
    assert kept[1].tolist() == (x * 3 + 1).tolist()


def test_names_and_annotations_are_checked():
    with pytest.raises(ValueError, match="namespace"):
        torch.library.custom_op("square", lambda x: x, mutates_args=())

    def nothing_said(x):
        return x

    with pytest.raises(ValueError, match="Parameter x must have a type annotation"):
        torch.library.custom_op("marktest::bad", nothing_said, mutates_args=())

    def no_return(x: torch.Tensor):
        return x

    with pytest.raises(ValueError, match="No return type annotation"):
        torch.library.custom_op("marktest::bad", no_return, mutates_args=())

    def whole(x: torch.Tensor) -> torch.Tensor:
        return x

    with pytest.raises(ValueError, match="'y'"):
        torch.library.custom_op("marktest::bad", whole, mutates_args={"y"})
    with pytest.raises(TypeError):
        torch.library.custom_op("marktest::bad", whole)


def test_schemas():
    def f(x: torch.Tensor, ys: list[torch.Tensor], n: int = 3, *, eps: float | None = None) -> tuple[torch.Tensor, int]:
        return x, n

    text = torch.library.infer_schema(f, mutates_args={"x"})
    assert text == "(Tensor(a!) x, Tensor[] ys, SymInt n=3, *, float? eps=None) -> (Tensor, SymInt)"
    with pytest.raises(
        RuntimeError, match="Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"
    ):
        square(3)
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        square()


def test_defined_by_text():
    torch.library.define("marktest::scaled", "(Tensor x, *, float by=2.0) -> Tensor")

    @torch.library.impl("marktest::scaled", "cpu")
    def scaled(x, by=2.0):
        return x * by

    @torch.library.register_fake("marktest::scaled")
    def _(x, by=2.0):
        return torch.empty_like(x)

    same(lambda x: torch.ops.marktest.scaled(x, by=3.0) + 1, lambda: (data(3),), frames=1, ops=2, breaks=())
    with pytest.raises(RuntimeError, match="defined already"):
        torch.library.define("marktest::scaled", "(Tensor x) -> Tensor")
    with pytest.raises(AttributeError):
        _ = torch.ops.marktest.nowhere


def test_a_size_that_depends_on_contents():
    torch.library.define("marktest::positive", "(Tensor x) -> Tensor", tags=torch.Tag.dynamic_output_shape)

    @torch.library.impl("marktest::positive", "cpu")
    def positive(x):
        return torch.from_numpy(x.numpy()[x.numpy() > 0])

    def f(x):
        return torch.ops.marktest.positive(x + 0.1).sum()

    same(f, lambda: (data(4),), breaks=["GB0036"])
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        same(f, lambda: (data(4),), breaks=["GB0037"])


def test_only_compliant_operators():
    torch.library.define("marktest::plain", "(Tensor x) -> Tensor")
    torch.library.impl("marktest::plain", "CompositeExplicitAutograd", lambda x: x * 2)
    f = lambda x: torch.ops.marktest.plain(x) + square(x)  # noqa: E731
    same(f, lambda: (data(3),), frames=1, breaks=())
    with torch._dynamo.config.patch(only_allow_pt2_compliant_ops=True):
        same(f, lambda: (data(3),), breaks=["GB0043"])


def test_ops_by_their_names_in_aten():
    same(lambda x: torch.ops.aten.add(torch.ops.aten.mul.Tensor(x, 2), 1), lambda: (data(3),), frames=1, ops=2)
    torch._dynamo.utils.counters.clear()
    with pytest.raises(RuntimeError):
        torch.compile(lambda x: torch.ops.aten.add(x, "one"), backend="eager")(data(2))
    assert codes() == {"GB0049"}


def test_opcheck():
    assert set(torch.library.opcheck(square, (data(3),)).values()) == {"SUCCESS", "SKIPPED: no formula is registered"}

    @torch.library.custom_op("marktest::secret_write", mutates_args=())
    def secret_write(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x.clone()

    secret_write.register_fake(lambda x: torch.empty_like(x))
    with pytest.raises(Exception, match="not declared to be written to"):
        torch.library.opcheck(secret_write, (data(3),))


def test_calls_leave_no_references():
    f = torch.compile(lambda x: square(x) + split_sum(x, 1)[0])
    x = data(4, 4)
    f(x)
    gc.collect()
    before = sys.getrefcount(x), sys.getrefcount(square), sys.getrefcount(None)
    for _ in range(50):
        f(x)
    gc.collect()
    after = sys.getrefcount(x), sys.getrefcount(square), sys.getrefcount(None)
    assert after[:2] == before[:2] and after[2] - before[2] < 20


def test_a_fake_that_keeps_what_it_is_given():
    seen = []

    @torch.library.custom_op("test_custom_ops::kept", mutates_args=())
    def kept(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @kept.register_fake
    def _(x):
        seen.append(x)
        return torch.empty_like(x)

    compiled = torch.compile(lambda x: kept(x) + 1)
    for n in (3, 4, 5):
        assert compiled(torch.ones(n)).tolist() == [3.0] * n


NAMESPACE = torch.ops.test_custom_ops


def register_again(factor, times):
    @torch.library.custom_op("test_custom_ops::again", mutates_args=())
    def again(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x * factor] * times)

    @again.register_fake
    def _(x):
        return x.new_empty(x.shape[0] * times)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.ops.test_custom_ops.again(x),
        lambda x: torch.ops.test_custom_ops.again.default(x) + 1,
        lambda x: NAMESPACE.again(x),
    ],
)
def test_registered_again(call, backend):
    """A cell of a notebook is run again: compiled code calls the new operator, of another size too."""
    torch._dynamo.reset()
    compiled = torch.compile(call, backend=backend)
    for factor, times in ((2, 1), (3, 1), (3, 2)):
        register_again(factor, times)
        for _ in range(2):
            assert compiled(torch.ones(2)).tolist() == call(torch.ones(2)).tolist()


def test_registered_after_a_trace_that_missed_it():
    def f(x):
        if hasattr(torch.ops.test_custom_ops_late, "late"):
            return torch.ops.test_custom_ops_late.late(x)
        return x

    compiled = torch.compile(f)
    assert compiled(torch.ones(2)).tolist() == [1, 1]

    @torch.library.custom_op("test_custom_ops_late::late", mutates_args=())
    def late(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    late.register_fake(torch.empty_like)
    assert compiled(torch.ones(2)).tolist() == [2, 2]
