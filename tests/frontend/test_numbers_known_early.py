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
