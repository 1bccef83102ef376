"""Python operators: numbers and foreign objects as operands, either side, in place."""

import numpy as np
import pytest

import minidynamo as torch

# --- numbers as operands ----------------------------------------------------------------------------------

NUMBER_RESULT = [
    (torch.float32, 2, torch.float32),
    (torch.float32, 2.5, torch.float32),
    (torch.float64, 2.5, torch.float64),
    (torch.int32, 2, torch.int32),
    (torch.int32, 2.5, torch.float32),
    (torch.int64, True, torch.int64),
    (torch.bool, 2, torch.int64),
    (torch.bool, 2.5, torch.float32),
    (torch.bool, True, torch.bool),
]


@pytest.mark.parametrize(("dtype", "number", "result"), NUMBER_RESULT)
def test_numbers_take_part_weakly(dtype, number, result):
    x = torch.ones(2, dtype=dtype)
    for value in (x + number, number + x, torch.add(x, number), x * number, torch.mul(number, x)):
        assert value.dtype is result
    assert (number / torch.ones(2, dtype=torch.int32)).dtype is torch.float32


OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", ">", ">="]


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("number", [3, 2.5, -2, True])
def test_operators_on_either_side(symbol, number):
    if symbol == "-" and number is True:
        with pytest.raises(RuntimeError, match="bool"):
            torch.ones(1) - number
        return
    array = np.array([1.0, 2.0, 4.0, 5.5])
    x = torch.tensor(array.tolist(), dtype=torch.float64)
    for left, right in ((x, number), (number, x)):
        result = eval(f"left {symbol} right")
        scope = {"left": array if left is x else left, "right": array if right is x else right}
        with np.errstate(invalid="ignore"):
            plain = eval(f"left {symbol} right", scope)
        np.testing.assert_allclose(result.numpy(), plain, rtol=1e-15)


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%", "**"])
def test_inplace_operators(symbol):
    x = torch.tensor([1.0, 2.0, 4.0])
    alias, address = x, x.data_ptr()
    expected = eval(f"x {symbol} 2").tolist()
    scope = {"x": x}
    exec(f"x {symbol}= 2", scope)
    assert scope["x"] is alias and alias.tolist() == expected and alias.data_ptr() == address


def test_unary_operators():
    x = torch.tensor([1.5, -2.0])
    assert (-x).tolist() == [-1.5, 2.0] and abs(x).tolist() == [1.5, 2.0] and (+x).tolist() == [1.5, -2.0]
    assert (~torch.tensor([True, False])).tolist() == [False, True] and (~torch.tensor([5])).tolist() == [-6]
    with pytest.raises(TypeError, match="integer and Boolean"):
        ~x  # noqa: B018


def test_foreign_operands():
    x = torch.ones(2)
    for other in ("a", None, [1, 2], (1, 2), {}, object()):
        assert (x == other) is False and (x != other) is True
        for text in ("x + other", "x < other", "x @ other", "x ** other"):
            with pytest.raises(TypeError):
                eval(text)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Tensor' and 'str'"):
        x + "a"
    assert (x + 1j).tolist() == [1 + 1j, 1 + 1j]

    class Reflected:
        def __radd__(self, other):
            return "mine"

    assert x + Reflected() == "mine"
