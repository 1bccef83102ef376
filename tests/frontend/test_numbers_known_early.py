"""Numbers that change from call to call, as arguments or in tensors without dimensions that a call brings: how often
functions are compiled for them with fullgraph=True, with plain Python's results."""

import math

import pytest

import minidynamo as torch
from minidynamo import tensor as T
from minidynamo._dynamo.testing import CompileCounter


def x4():
    return torch.arange(24.0).reshape(4, 6) / 7 + 0.1


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(*pair) for pair in zip(a, b, strict=True))
    return type(a) is type(b) and (a == b or (isinstance(a, float) and math.isclose(a, b)))


def compilations(f, calls):
    """How many, where each call gives what plain Python gives and leaves the same in its arguments."""
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter, fullgraph=True)
    for make in calls:
        plain, traced = make(), make()
        assert same(compiled(*traced), f(*plain))
        assert same(traced, plain)
    return counter.frame_count


def sides(x, n):
    return x + 1 if n.item() > 2 else x - 1


def written_first(x, n):
    n.add_(1)
    return x * n.item(), n.item()


def written_later(x, n):
    k = n.item()
    n.mul_(2)
    return x * k, k, n.item()


def written_through_a_view(x, n):
    n.view(1).add_(5)
    return x * n.item()


def in_rounds(x, n):
    for _ in range(n.item()):
        x = x * 2
    return x


# name: function of x and a tensor, elements, compilations
IN_TENSORS = {
    "scaled": (lambda x, n: (x * n.item(), n.item() + 1), (3, 2, 5, 4), 1),
    "sliced": (lambda x, n: x[:, : n.item()], (3, 2, 5, 4), 1),
    "branch": (sides, (3, 2, 5, 1), 2),
    "rounds": (in_rounds, (3, 2, 3), 2),
    "position in a list": (lambda x, n: (x + 1, [10, 20, 30, 40][n.item()]), (3, 2, 3), 2),
    "key": (lambda x, n: (x + 1, {3: "a", 2: "b"}.get(n.item())), (3, 2, 7), 3),
    "text": (lambda x, n: (x + 1, f"{n.item():>3}", "%d" % n.item()), (3, 2), 2),  # noqa: UP031
    "functions": (lambda x, n: (x + 1, abs(n.item()), divmod(n.item(), 2), math.sqrt(n.item())), (3, 2, 5), 1),
    "float": (lambda x, n: (x * float(n), float(n) / 2), (3, 2, 5), 1),
    "ratio": (lambda x, n: (x + 1, n.item().as_integer_ratio()), (3, 2, 5), 1),
    "int and index": (lambda x, n: (x * int(n), x[0].expand(int(n), 6)), (3, 2, 5), 1),
    "largest": (lambda x, n: (x + n.item(), n.item()), (2**62, -(2**63), 2**63 - 1), 1),
    "written first": (written_first, (3, 2), 1),
    "written later": (written_later, (3, 2), 1),
    "written through a view": (written_through_a_view, (3, 2), 1),
    "float64": (lambda x, n: (x * n.item(), n.item() * 2, math.exp(n.item())), (2.5, 1.5, -0.5), 1),
    "float64 branch": (lambda x, n: x + 1 if n.item() > 1 else -x, (2.5, 1.5, -0.5), 2),
    "float64 written later": (written_later, (2.5, 1.5), 1),
    "float64 as int": (lambda x, n: (x + 1, int(n)), (2.5, 1.5, -0.5), 1),
}


@pytest.mark.parametrize("name", IN_TENSORS)
def test_elements_of_inputs(name):
    f, elements, wanted = IN_TENSORS[name]
    dtype = torch.float64 if isinstance(elements[0], float) else torch.int64
    calls = [lambda e=e: (x4(), T(e, dtype=dtype)) for e in elements]
    assert compilations(f, calls) == wanted


def test_elements_that_only_a_run_knows():
    for tensor in (T(3.0), T([3]), T(3, dtype=torch.int32), T(True)):
        with pytest.raises(torch._dynamo.exc.Unsupported, match="Data-dependent branching"):
            torch.compile(lambda x, n: x if n.item() > 2 else -x, fullgraph=True)(x4(), tensor)


def test_an_element_is_read_in_each_call():
    compiled = torch.compile(lambda x, n: (x * n.item(), n.item()), fullgraph=True)
    n = T(3)
    for k in (3, 7, -2):
        n.fill_(k)
        product, read = compiled(T([1.0]), n)
        assert (product.item(), read) == (k, k)


def test_exported_graphs_leave_elements_to_the_run():
    class Scaled(torch.nn.Module):
        def forward(self, x, n):
            return x * n.item()

    program = torch.export.export(Scaled(), (torch.ones(2), T(3)))
    graph, _ = torch._dynamo.export(Scaled().forward)(torch.ones(2), T(3))
    for run in (program.module(), graph):
        assert [run(torch.ones(2), T(n)).tolist() for n in (3, 5)] == [[3.0, 3.0], [5.0, 5.0]]


def test_one_tensor_under_two_names():
    compiled = torch.compile(lambda x, a, b: (a.add_(1), x * b.item())[1], fullgraph=True)
    same = T(5)
    assert compiled(T([1.0]), same, same).tolist() == [6.0]
    assert compiled(T([1.0]), T(5), T(9)).tolist() == [9.0]


def test_calls_without_operations_say_nothing_of_others():
    def f(x, flag):
        if flag:
            return x
        return x + 1

    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter, fullgraph=True)
    assert [compiled(T([1.0]), flag).item() for flag in (True, False, True)] == [1, 2, 1]
    assert counter.frame_count == 1


INTS, FLOATS = (2, 3, 4, 5), (0.5, 1.5, 2.5, 3.5)
positions = T([0, 2, 1])
# name: function of x and a number, numbers; two compilations
CHANGING = {
    "repeat": (lambda x, k: x.repeat(k, 1), INTS),
    "tile": (lambda x, k: x.tile((k,)), INTS),
    "repeat_interleave": (lambda x, k: x.repeat_interleave(k), INTS),
    "topk": (lambda x, k: torch.topk(x, k=k - 1, dim=1)[1], (3, 4, 5)),
    "kthvalue": (lambda x, k: torch.kthvalue(x, k, dim=1)[0], INTS),
    "roll": (lambda x, k: x.roll(shifts=k, dims=1), (2, 3, 4)),
    "select": (lambda x, k: x.select(1, index=k), INTS),
    "last": (lambda x, k: x[:, -k:], INTS),
    "tril": (lambda x, k: x.tril(diagonal=k - 3), INTS),
    "triu": (lambda x, k: torch.triu(x, k - 3), INTS),
    "tensor": (lambda x, k: torch.tensor(k) + x, INTS),
    "tensor of several": (lambda x, k: torch.tensor([k, 1]), INTS),
    "power of ints": (lambda x, k: T([1, 2, 3], dtype=torch.int32) ** k, INTS),
    "norm": (lambda x, p: (torch.norm(x, p), x.norm(p, dim=1, keepdim=True)), FLOATS),
    "vector_norm": (lambda x, p: torch.linalg.vector_norm(x, ord=p), FLOATS),
    "normalize": (lambda x, p: torch.nn.functional.normalize(x, p), FLOATS),
    "renorm": (lambda x, p: torch.renorm(x, p, 0, 1.0), FLOATS),
    "dist": (lambda x, p: torch.dist(x, x * 2, p), FLOATS),
    "logspace": (lambda x, k: torch.logspace(0, k, 5), FLOATS),
    "scatter": (lambda x, k: x.scatter(0, positions[None], value=k), FLOATS),
    "addmv": (lambda x, k: torch.addmv(x[:, 0], x, x[0], alpha=k), FLOATS),
    "addr": (lambda x, k: x.addr(x[:, 0], x[0], beta=k), FLOATS),
    "addbmm": (lambda x, k: torch.addbmm(x[:, :4], x[None], x.T[None], alpha=k), FLOATS),
    "scalar_tensor": (lambda x, k: torch.scalar_tensor(k), FLOATS),
    "full of a dtype": (lambda x, k: torch.full((2,), k, dtype=torch.float64), FLOATS),
}


@pytest.mark.parametrize("name", CHANGING)
def test_two_compilations_do_for_all_numbers(name):
    f, numbers = CHANGING[name]
    assert compilations(f, [lambda k=k: (x4(), k) for k in numbers]) == 2


def test_powers_of_ints_refuse_negative_exponents():
    compiled = torch.compile(lambda x, k: x**k)
    assert [compiled(T([2, 3]), k).tolist() for k in (2, 3, 4)] == [[4, 9], [8, 27], [16, 81]]
    with pytest.raises(RuntimeError, match="negative"):
        compiled(T([2, 3]), -2)


def test_norms_that_need_gradients_keep_their_derivative():
    compiled = torch.compile(lambda x, p: x.norm(p))
    for p in (1.5, 2.5, 3.5):
        x = torch.zeros(3, requires_grad=True)
        compiled(x, p).backward()
        y = torch.zeros(3, requires_grad=True)
        y.norm(p).backward()
        assert str(x.grad) == str(y.grad)


def unbacked(n, *more):
    x = torch.ones(n, *more)
    torch._dynamo.decorators.mark_unbacked(x, 0)
    return x


# name: function of tensors whose first size is marked, what is made of each size
UNBACKED = {
    "scaled": (lambda x: x * 2 + 1, lambda n: (unbacked(n),)),
    "made": (lambda x: torch.zeros(x.shape[0]) + 1, lambda n: (unbacked(n),)),
    "counted": (lambda x: (torch.arange(x.shape[0]), x.shape[0] * 2, x + 1), lambda n: (unbacked(n),)),
    "rows": (lambda x: torch.relu(x @ torch.ones(3, 2)).sum(1), lambda n: (unbacked(n, 3),)),
    "two": (lambda x, y: x + y, lambda n: (unbacked(n), unbacked(n))),
    "text": (lambda x: (f"{x.shape[0]:>3}", x + 1), lambda n: (unbacked(n),)),
    "joined": (lambda x: torch.cat([x, x]), lambda n: (unbacked(n),)),
}


@pytest.mark.parametrize("name", UNBACKED)
def test_one_compilation_for_marked_sizes(name):
    f, make = UNBACKED[name]
    assert compilations(f, [lambda n=n: make(n) for n in (4, 1, 0, 7)]) == 1
    compiled = torch.compile(f, fullgraph=True)
    assert all(same(compiled(*make(n)), f(*make(n))) for n in (4, 1, 0, 7, 4))


def test_code_that_decides_on_unbacked_sizes_breaks():
    compiled = torch.compile(lambda x: x if x.shape[0] > 2 else -x, fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="Data-dependent branching"):
        compiled(unbacked(4))


def test_gradients_of_inputs_with_unbacked_sizes():
    compiled = torch.compile(lambda x: (x * x).sum(), fullgraph=True)
    for n in (4, 1, 0):
        x = torch.ones(n, requires_grad=True)
        torch._dynamo.decorators.mark_unbacked(x, 0)
        compiled(x).backward()
        assert x.grad.tolist() == [2.0] * n


READ_SIZES = {
    "inputs": (lambda x, y: x + y, lambda *sizes: [unbacked(n) for n in sizes]),
    "items": (lambda n: torch.ones(n[0].item()) + torch.ones(n[1].item()), lambda *sizes: [T(sizes)]),
}


@pytest.mark.parametrize("name", READ_SIZES)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_sizes_taken_for_equal_are_checked(name, backend):
    f, make = READ_SIZES[name]
    compiled = torch.compile(f, fullgraph=True, backend=backend)
    for sizes in ((4, 4), (3, 3), (4, 1), (1, 4)):
        assert compiled(*make(*sizes)).tolist() == f(*make(*sizes)).tolist()
    with pytest.raises(RuntimeError, match="do not broadcast"):
        compiled(*make(4, 2))


def test_bounds_of_marks():
    def marked(n):
        x = torch.ones(n)
        torch._dynamo.mark_dynamic(x, 0, min=2, max=8)
        return x

    counter = CompileCounter()
    compiled = torch.compile(lambda x: x + 1, backend=counter)
    assert [compiled(marked(n)).shape[0] for n in (4, 6, 8)] == [4, 6, 8] and counter.frame_count == 1
    with pytest.raises(
        torch.fx.experimental.symbolic_shapes.ConstraintViolationError, match=r"10 not in range \[2, 8\]"
    ):
        compiled(marked(10))


def test_marks_that_may_be_ignored():
    def fixed(x):
        return x + torch.ones(4)

    x = torch.ones(4)
    torch._dynamo.mark_dynamic(x, 0)
    with pytest.raises(torch.fx.experimental.symbolic_shapes.ConstraintViolationError):
        torch.compile(fixed)(x)
    torch._dynamo.reset()
    with torch._dynamo.config.patch(allow_ignore_mark_dynamic=True):
        assert torch.compile(fixed)(x).tolist() == [2.0] * 4


def test_pieces_of_a_symbolic_size():
    pieces = {"chunk": lambda x: x.chunk(2), "split": lambda x: [p + 1 for p in x.split(3)]}
    assert compilations(pieces["chunk"], [lambda n=n: (torch.arange(float(n)),) for n in (4, 6, 7, 9)]) == 2
    assert compilations(pieces["split"], [lambda n=n: (torch.arange(float(n)),) for n in (4, 5, 6, 9)]) <= 4


# name: text of the number that is read, element
TEXTS = {
    "f-string": (lambda v: f"{v}", 2.5),
    "with a width": (lambda v: f"{v:8.2f}|", 2.5),
    "repr": (lambda v: f"{v!r}", 2.5),
    "str": (lambda v: str(v), 2.5),
    "format": (lambda v: format(v, "05"), 2.5),
    "int": (lambda v: f"{v:04}", [3]),
    "bool": (lambda v: f"{v}", True),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_numbers_only_a_run_knows(name):
    text, element = TEXTS[name]
    f = lambda x, n: (x + 1, text(n.item()))  # noqa: E731
    assert compilations(f, [lambda: (x4(), T(element))] * 2) == 1
