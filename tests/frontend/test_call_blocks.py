"""`with _dynamo.optimize(...)`, `disable()` and `run()`: blocks in which a thread's calls are compiled, or are not.

Counts of frames and operations are those of torch 2.13, but that run() compiles nothing in its block.
"""

import threading

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter


@pytest.fixture(autouse=True)
def allowed(monkeypatch):
    torch._dynamo.reset()
    monkeypatch.setattr(torch._dynamo.config, "raise_on_ctx_manager_usage", False)  # patch() is for one thread


def g(x):
    return x + 1


def broken(x):
    y = g(x)
    print(end="")
    return y * 2


class Module(torch.nn.Module):
    def forward(self, x):
        return g(x) * 3


def counts(c):
    return c.frame_count, c.op_count


def test_calls_in_the_block_are_compiled_and_later_ones_are_not():
    c, module = CompileCounter(), Module()
    with torch._dynamo.optimize(c):
        assert broken(torch.ones(2)).tolist() == [4.0, 4.0]
    broken(torch.ones(3))
    assert counts(c) == (2, 2)
    with torch._dynamo.optimize(c):
        assert module(torch.ones(2)).tolist() == [6.0, 6.0]
    assert counts(c) == (3, 4)


def test_blocks_in_blocks():
    outer, inner = CompileCounter(), CompileCounter()
    with torch._dynamo.optimize(outer):
        with torch._dynamo.optimize(inner):
            g(torch.ones(2))
        with torch._dynamo.disable():
            g(torch.ones(2))
        broken(torch.ones(2))
        with torch._dynamo.optimize(inner, disable=True):
            g(torch.ones(7))
    assert (counts(outer), counts(inner)) == ((2, 2), (1, 1))


def test_errors_and_whole_graphs():
    c = CompileCounter()
    with pytest.raises(KeyError), torch._dynamo.optimize(c):
        raise KeyError(1)
    g(torch.ones(2))
    with pytest.raises(torch._dynamo.exc.Unsupported, match="builtin operator"):
        with torch._dynamo.optimize(c, nopython=True):
            broken(torch.ones(2))
    g(torch.ones(2))
    assert counts(c) == (0, 0)
    with pytest.raises(RuntimeError, match="no block"):
        torch._C._end_block()
    with pytest.raises(TypeError, match="compiled function"):
        torch._C._begin_block(g)


def test_compiled_functions_in_blocks():
    c = CompileCounter()
    compiled = torch.compile(g, backend=c)
    with torch._dynamo.disable():
        compiled(torch.ones(2))
    assert counts(c) == (1, 1)
    with torch._dynamo.run():
        compiled(torch.ones(2)), compiled(torch.ones(3))
    assert counts(c) == (1, 1)

    def with_a_block(x):
        with torch._dynamo.optimize(c):
            return g(x)

    assert torch.compile(with_a_block, backend=c)(torch.ones(4)).tolist() == [2.0] * 4
    assert counts(c) == (2, 2)


def test_a_block_is_of_its_thread():
    c = CompileCounter()
    left_open = []

    def leave_open():
        block = torch._dynamo.optimize(c)
        left_open.append(block)
        block.__enter__()
        g(torch.ones(2))

    with torch._dynamo.optimize(c):
        other = threading.Thread(target=g, args=(torch.ones(2),))
        other.start(), other.join()
    assert counts(c) == (0, 0)
    for _ in range(3):
        other = threading.Thread(target=leave_open)
        other.start(), other.join()
    assert counts(c) == (1, 1)
    g(torch.ones(5))
    assert counts(c) == (1, 1)


def test_the_default_refuses():
    with torch._dynamo.config.patch(raise_on_ctx_manager_usage=True):
        for block in (torch._dynamo.optimize("eager"), torch._dynamo.disable(), torch._dynamo.run()):
            with pytest.raises(RuntimeError, match="is used with a context manager"), block:
                pass
    assert torch._dynamo.disable()(g)(torch.ones(1)).item() == 2.0
    assert torch._dynamo.run()(g)(torch.ones(1)).item() == 2.0
