"""Names of the op table: aliases exist where they say, namespaces hold them, and every name occurs in a test."""

import json
import pathlib
import pickle
import re

import pytest

import minidynamo as torch
from minidynamo import _C

OPS = json.loads(_C.op_table_json())
ALIASES = sorted({(alias, op["public_name"]) for op in OPS for alias in op["also"].split()})


@pytest.mark.parametrize("alias, name", ALIASES)
def test_alias_is_there(alias, name):
    if alias.startswith("Tensor."):
        assert callable(getattr(torch.Tensor, alias.removeprefix("Tensor.")))
        return
    found = torch
    for part in alias.split("."):
        found = getattr(found, part)
    assert found.__name__ == alias.split(".")[-1] and callable(found)
    if "." not in alias:
        flags = [op for op in OPS if op["public_name"] == name]
        assert hasattr(torch.Tensor, alias) == any(op["method"] for op in flags)
        assert hasattr(torch.Tensor, alias + "_") == hasattr(torch.Tensor, name + "_")


def test_functions_of_namespaces_pickle_by_name():
    assert pickle.loads(pickle.dumps(torch.special.expit)) is torch.special.expit
    assert torch.special.expit.__qualname__ == "special.expit"


def test_graphs_show_the_name_that_was_called():
    seen = []

    def backend(gm, inputs):
        seen.extend(gm.graph.nodes)
        return gm.forward

    torch._dynamo.reset()
    torch.compile(lambda x: torch.special.expit(torch.multiply(x, 2)).absolute(), backend=backend)(torch.ones(2))
    calls = [n for n in seen if n.op.startswith("call")]
    assert [(n.op, n.name) for n in calls] == [
        ("call_function", "multiply"), ("call_function", "expit"), ("call_method", "absolute"),
    ]  # fmt: skip
    assert calls[0].target is torch.multiply and calls[1].target is torch.special.expit


def test_every_name_is_called_in_a_test():
    here = pathlib.Path(__file__).parent
    words = set(re.findall(r"\w+", "\n".join(p.read_text(encoding="utf-8") for p in here.glob("*.py"))))
    public = {op["public_name"] for op in OPS if op["function"] or op["method"] or op["property"]}
    aliases = {alias.split(".")[-1] for alias, _ in ALIASES}
    in_place = {op["public_name"] + "_" for op in OPS if op["inplace"]}
    assert sorted((public | aliases | in_place) - words - LEFT_OUT) == []


LEFT_OUT = set()
