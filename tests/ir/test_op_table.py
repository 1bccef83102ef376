"""The op table as JSON, and that every declared spelling exists on the Python side."""

import json

import pytest

import minidynamo as torch
from minidynamo import _C

OPS = json.loads(_C.op_table_json())


def spelled(flag):
    return sorted({op["public_name"] for op in OPS if op[flag]})


def test_rows_are_complete():
    assert len({op["name"] for op in OPS}) == len(OPS) > 100
    for op in OPS:
        assert op["doc"] and op["signature"].startswith(op["public_name"] + "("), op["name"]
        # The schema's parameters, written out again, are the signature.
        star, parts = False, []
        for p in op["params"]:
            if p["keyword_only"] and not star:
                star = True
                parts.append("*")
            parts.append(f"{p['type']} {p['name']}" + (f"={p['default']}" if "default" in p else ""))
        # A generator is never an argument of a call: it decides where the call's numbers come from.
        signature = op["signature"].replace(", Generator? generator=None", "").replace(", *)", ")")
        assert signature.startswith(f"{op['public_name']}({', '.join(parts)}) -> "), op["name"]


def test_one_row_in_full():
    (row,) = [op for op in OPS if op["name"] == "max.dim"]
    assert row["results"] == ["values", "indices"]
    assert row["kind"] == "reduction"
    assert row["params"][2] == {"name": "keepdim", "type": "bool", "keyword_only": False, "default": "False"}


@pytest.mark.parametrize("name", spelled("function"))
def test_functions_exist(name):
    assert callable(getattr(torch, name))


@pytest.mark.parametrize("name", spelled("method"))
def test_methods_exist(name):
    assert callable(getattr(torch.Tensor, name))


@pytest.mark.parametrize("name", spelled("inplace"))
def test_inplace_methods_exist(name):
    assert callable(getattr(torch.Tensor, name + "_"))


@pytest.mark.parametrize("name", spelled("property"))
def test_properties_exist(name):
    assert not callable(getattr(torch.Tensor, name))
