"""Dtypes of results against dtype_facts.json, which holds what torch 2.13 answered for every dtype. null: it raised."""

import json
import pathlib

import pytest

import minidynamo as torch

FACTS = json.loads((pathlib.Path(__file__).parent / "dtype_facts.json").read_text())
NAMES = FACTS["dtypes"]
DTYPES = [getattr(torch, name) for name in NAMES]
NUMBERS = (True, 1, 1.0)


def ones(dtype):
    return torch.ones(2, dtype=dtype)


def zero_dim(dtype):
    return torch.tensor(1, dtype=dtype)


def answer(call, *args):
    try:
        result = call(*args)
    except (RuntimeError, NotImplementedError, TypeError):
        return None
    return str(getattr(result, "dtype", result)).removeprefix("torch.")


def each(call):
    return [answer(call, dtype) for dtype in DTYPES]


def each_pair(call):
    return [[answer(call, a, b) for b in DTYPES] for a in DTYPES]


def test_promotion():
    assert each_pair(torch.promote_types) == list(FACTS["promote_types"].values())
    assert [[torch.can_cast(a, b) for b in DTYPES] for a in DTYPES] == list(FACTS["can_cast"].values())


def test_operands_of_different_rank():
    def with_numbers(make):
        return [[answer(torch.result_type, make(dtype), n) for n in NUMBERS] for dtype in DTYPES]

    assert with_numbers(ones) == list(FACTS["tensor_with_number"].values())
    assert with_numbers(zero_dim) == list(FACTS["zero_dim_with_number"].values())
    mixed = list(FACTS["tensor_with_zero_dim"].values())
    assert each_pair(lambda a, b: torch.result_type(ones(a), zero_dim(b))) == mixed
    assert each_pair(lambda a, b: ones(a) * zero_dim(b)) == mixed
    assert each_pair(lambda a, b: zero_dim(b) * ones(a)) == mixed


@pytest.mark.parametrize("op", FACTS["unary"])
def test_one_operand(op):
    def first(dtype):
        result = getattr(torch, op)(ones(dtype))
        return result[0] if isinstance(result, tuple) else result

    assert each(first) == FACTS["unary"][op]


@pytest.mark.parametrize("op", FACTS["binary"])
def test_two_operands(op):
    assert each_pair(lambda a, b: getattr(torch, op)(ones(a), ones(b))) == FACTS["binary"][op]


@pytest.mark.parametrize("op", FACTS["inplace"])
def test_in_place(op):
    assert each_pair(lambda a, b: getattr(ones(a), op + "_")(ones(b))) == FACTS["inplace"][op]


def test_products():
    assert each(lambda d: torch.ones(2, 2, dtype=d) @ torch.ones(2, 2, dtype=d)) == FACTS["matmul"]


CREATION = {
    "zeros": lambda d: torch.zeros(2, dtype=d),
    "full": lambda d: torch.full((2,), 1, dtype=d),
    "arange": lambda d: torch.arange(3, dtype=d),
    "linspace": lambda d: torch.linspace(0, 1, 3, dtype=d),
    "eye": lambda d: torch.eye(2, dtype=d),
    "rand": lambda d: torch.rand(2, dtype=d),
    "randn": lambda d: torch.randn(2, dtype=d),
    "randint": lambda d: torch.randint(0, 2, (2,), dtype=d),
}


@pytest.mark.parametrize("op", FACTS["creation"])
def test_creation(op):
    assert each(CREATION[op]) == FACTS["creation"][op]
