"""Methods of Tensor that are written in Python: on arguments and on results, compiled once."""

import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo._dynamo.testing import CompileCounter

CALLS = {
    "cov": lambda x: x.cov(),
    "new_tensor": lambda x: x.new_tensor([1.0, 2.0]) + x,
    "to_dense": lambda x: x.to_dense(),
    "sum_to_size": lambda x: x.sum_to_size(1, 2),
    "new_empty_strided": lambda x: x.new_empty_strided((2,), (1,)).fill_(1) + x,
    "H": lambda x: x.H + x.mH,
    "is_same_size": lambda x: x.is_same_size(x),
    "kept": lambda x: (lambda method: method() + method())(x.cov),
}


@pytest.mark.parametrize("name", CALLS)
def test_on_arguments_and_results(name):
    call = CALLS[name]

    def f(x):
        return call(x), call(x + 1), x * 2

    same(f, lambda: (torch.tensor([[1.0, 2.0], [3.0, 5.0]]),), frames=1, breaks=[])


def test_names_are_known():
    def f(x):
        y = x + 1
        return y, [hasattr(each, name) for each in (x, y) for name in ("cov", "sum", "shape", "xyzzy")]

    same(f, lambda: (torch.ones(2),), frames=1, breaks=[])


def test_an_attribute_of_the_same_name():
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x + 1 if callable(x.cov) else x + x.cov, backend=counter)
    x, marked = torch.ones(2), torch.ones(2)
    marked.cov = 5
    for each, expected in ((marked, 6), (x, 2), (marked, 6), (x, 2)):
        assert compiled(each).tolist() == [expected] * 2
    assert counter.frame_count == 2
    x.cov = 7
    assert compiled(x).tolist() == [8, 8]
