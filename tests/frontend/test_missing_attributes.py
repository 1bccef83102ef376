"""Attributes a tensor lacks when it is traced, and has later: whoever went on without them is compiled anew."""

import pytest

import minidynamo as torch
from frontend.differential import Box


def caught(x):
    try:
        return x + x.extra
    except AttributeError:
        return x - 1


READS = {
    "getattr": lambda x: x + getattr(x, "extra", 0),
    "getattr_of_a_name_of_torch": lambda x: x + getattr(x, "sspaddmm", 0),
    "hasattr": lambda x: x + 1 if hasattr(x, "extra") else x - 1,
    "caught": caught,
    "of_an_attribute": lambda box: box.t + getattr(box.t, "extra", 0),
    "of_an_item": lambda items: items[0] + getattr(items[0], "extra", 0),
}


@pytest.mark.parametrize("read", READS)
def test_set_later(read):
    f, x = READS[read], torch.ones(2)
    argument = {"of_an_attribute": Box(t=x), "of_an_item": [x]}.get(read, x)
    compiled = torch.compile(f, backend="eager")
    for _ in range(2):
        assert compiled(argument).tolist() == f(argument).tolist()
    x.extra = x.sspaddmm = 7
    for _ in range(2):
        assert compiled(argument).tolist() == f(argument).tolist()
    del x.extra, x.sspaddmm
    assert compiled(argument).tolist() == f(argument).tolist()
