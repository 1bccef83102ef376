"""torch.testing: assert_close and make_tensor; safe_globals of files; torch.onnx and torch.jit."""

import collections
import io
import pickle

import numpy
import pytest

import minidynamo as torch
from minidynamo.testing import assert_close, make_tensor

v = torch.tensor
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "actual, expected, more",
    [
        (1, 1, {}),
        (1.0, 1.0 + 1e-9, {}),
        (1 + 1j, 1 + 1j, {}),
        (True, True, {}),
        (None, None, {}),
        (NAN, NAN, {"equal_nan": True}),
        (INF, INF, {}),
        (1, 1.0, {"check_dtype": False}),
        (numpy.float64(1), 1.0, {}),
        (v([1.0, 2.0]), v([1.0, 2.0]), {}),
        (v([1.0]), v([1.00001]), {}),
        (v([NAN]), v([NAN]), {"equal_nan": True}),
        (v([INF, -INF]), v([INF, -INF]), {}),
        (v([1.0]), v([1.0], dtype=torch.float64), {"check_dtype": False}),
        (v([1.0]), v([1]), {"check_dtype": False}),
        (v([1.0, 2.0]), v([1.0, 2.1]), {"rtol": 0.1, "atol": 0.0}),
        (v([1, 2]), v([1, 3]), {"rtol": 0.1, "atol": 2}),
        (v([]), v([]), {}),
        (v([1.0], device="meta"), v([2.0], device="meta"), {}),
        (v([1.0], device="meta"), v([1.0]), {"check_device": False}),
        (torch.ones(2, 3), torch.ones(3, 2).t(), {}),
        (torch.nn.Parameter(v([1.0])), v([1.0]), {}),
        (numpy.array([1.0, 2.0]), numpy.array([1.0, 2.0]), {}),
        (torch.eye(2).to_sparse(), torch.eye(2).to_sparse(), {}),
        (torch.eye(2).to_sparse(), torch.eye(2), {"check_layout": False}),
        ((v(1.0),), [v(1.0)], {}),
        ([], (), {}),
        (range(3), range(3), {}),
        ({"a": [1, v([2.0])]}, collections.OrderedDict(a=[1, v([2.0])]), {}),
    ],
)
def test_what_is_close(actual, expected, more):
    assert_close(actual, expected, **more)


@pytest.mark.parametrize(
    "actual, expected, more",
    [
        (1, 2, {}),
        (1, 1.0, {}),
        (1.0, 1.1, {}),
        (1 + 1j, 1 + 2j, {}),
        (True, False, {}),
        (None, 1, {}),
        (NAN, NAN, {}),
        (INF, 1.0, {}),
        (v([1.0]), v([1.1]), {}),
        (v([1]), v([2]), {}),
        (v([True]), v([False]), {}),
        (v([NAN]), v([NAN]), {}),
        (v([INF]), v([-INF]), {}),
        (v([1.0]), v([1.0], dtype=torch.float64), {}),
        (v([1.0]), v([1.5], dtype=torch.float64), {"check_dtype": False}),
        (v([1.0, 2.0]), v([[1.0, 2.0]]), {}),
        (v(1.0), v([1.0]), {}),
        (v([1.0], device="meta"), v([1.0]), {}),
        (torch.ones(2, 3), torch.ones(3, 2).t(), {"check_stride": True}),
        (torch.eye(2).to_sparse(), torch.eye(2), {}),
        (torch.eye(2).to_sparse(), 2 * torch.eye(2).to_sparse(), {}),
        (torch.eye(2).to_sparse(), v([[1.0, 0.0], [0.0, 0.0]]).to_sparse(), {}),
        (torch.eye(2).to_sparse(), v([[0.0, 1.0], [1.0, 0.0]]).to_sparse(), {}),
        (v([1.0, 2.0]), v([1.0, 2.5]), {"rtol": 0.1, "atol": 0.0}),
        (v(3.0), v(4.0), {"rtol": 0, "atol": 0}),
        ([v(1.0)], [v(1.0), v(2.0)], {}),
        ({"a": 1}, {"b": 1}, {}),
        ({"a": 1, "b": 2}, {"a": 1}, {}),
        ([[1, 2], [3, 4]], [[1, 2], [3, 5]], {}),
    ],
)
def test_what_is_not_close(actual, expected, more):
    with pytest.raises(AssertionError):
        assert_close(actual, expected, **more)


@pytest.mark.parametrize(
    "dtype, rtol, atol",
    [
        (torch.float16, 1e-3, 1e-5),
        (torch.bfloat16, 1.6e-2, 1e-5),
        (torch.float32, 1.3e-6, 1e-5),
        (torch.float64, 1e-7, 1e-7),
    ],
)
def test_tolerances_follow_the_dtype(dtype, rtol, atol):
    for value in (0.0, 64.0):
        expected = v([value], dtype=dtype)
        allowed = atol + rtol * value
        step = max(torch.finfo(dtype).eps * value, 1e-12)
        assert_close(v([value + max(allowed - step, 0.0)], dtype=dtype), expected)
        with pytest.raises(AssertionError):
            assert_close(v([value + allowed * 1.1 + 2 * step], dtype=dtype), expected)
    with pytest.raises(AssertionError):  # the wider tolerance counts
        assert_close(v([1.0 + 3e-2], dtype=torch.float64), v([1.0], dtype=dtype), check_dtype=False)


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda: assert_close("a", "a"), TypeError),
        (lambda: assert_close({1}, {1}), TypeError),
        (lambda: assert_close(v(1.0), 1.0), TypeError),
        (lambda: assert_close(v([1.0]), [1.0]), TypeError),
        (lambda: assert_close(numpy.array([1.0]), v([1.0])), TypeError),
        (lambda: assert_close([2, "a"], [1, "a"]), TypeError),
        (lambda: assert_close(torch.nn.Parameter(v([1.0])), v([1.0]), allow_subclasses=False), TypeError),
        (lambda: assert_close(1.0, 1.0, rtol=0.1), ValueError),
        (lambda: assert_close(1.0, 1.0, atol=0.1), ValueError),
        (lambda: assert_close(1.0, 1.0, rtol=-1.0, atol=0.0), RuntimeError),
    ],
)
def test_wrong_arguments(call, kind):
    with pytest.raises(kind):
        call()


def text_of(*args, **more):
    with pytest.raises(AssertionError) as caught:
        assert_close(*args, **more)
    return str(caught.value)


def test_texts_tell_how_much_and_where():
    text = text_of(v([[1.0, 2.0], [3.0, 5.0]]), v([[1.0, 2.0], [4.0, 9.0]]))
    assert "Mismatched elements: 2 / 4 (50.0%)" in text
    assert "Greatest absolute difference: 4.0 at index (1, 1) (up to 1e-05 allowed)" in text
    assert "Greatest relative difference: 0.44444444" in text and "(up to 1.3e-06 allowed)" in text
    text = text_of(v([0.0, 2.0, 9.0]), v([0.0, 0.0, 5.0]))
    assert "difference: 4.0 at index (2,)" in text and "difference: inf at index (1,)" in text
    text = text_of(v([200], dtype=torch.uint8), v([100], dtype=torch.uint8))
    assert "not equal" in text and text.endswith("difference: 1.0 at index (0,)") and "allowed" not in text
    assert "difference: nan at index (0,)" in text_of(v([NAN]), v([1.0]))
    assert "difference: 1" in text_of(3, 4) and "0.25" in text_of(3, 4)
    assert "['a'][0]" in text_of({"a": [v([1.0, 2.0])]}, {"a": [v([1.0, 3.0])]})
    assert "dtype" in text_of(v([1.0]), v([1.0]).double()) and "shape" in text_of(v(1.0), v([1.0]))
    assert text_of(1, 2, msg="mine") == "mine"
    assert text_of([1], [2], msg=lambda text: "X" + text).startswith("XScalars")


def test_assert_allclose_is_wider():
    with pytest.warns(FutureWarning):
        torch.testing.assert_allclose(v([1.0]), [1.00005])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError):
        torch.testing.assert_allclose(v([1.0]), v([1.1]))


# --- make_tensor


@pytest.mark.parametrize(
    "dtype, low, high",
    [
        (torch.float32, -9, 9),
        (torch.float64, -9, 9),
        (torch.float16, -9, 9),
        (torch.bfloat16, -9, 9),
        (torch.int64, -9, 9),
        (torch.int8, -9, 9),
        (torch.uint8, 0, 9),
        (torch.bool, 0, 1),
    ],
)
def test_ranges(dtype, low, high):
    made = make_tensor((2000,), dtype=dtype, device="cpu")
    assert made.dtype == dtype and made.shape == (2000,)
    found = made.double()
    assert found.min() >= low and found.max() <= high
    if dtype.is_floating_point:
        assert found.max() < 9 or dtype == torch.bfloat16
        assert found.min() < -8.5 and found.max() > 8.5 and abs(found.mean()) < 1
    else:
        assert found.unique().tolist() == list(range(low, high + 1))
    assert not (make_tensor((500,), dtype=dtype, device="cpu", exclude_zero=True) == 0).any()


def test_sizes_and_bounds():
    def make(*sizes, dtype=torch.float32, **more):
        return make_tensor(*sizes, dtype=dtype, device="cpu", **more)

    assert make(2, 3).shape == make((2, 3)).shape == make(torch.Size([2, 3])).shape == (2, 3) and make(()).shape == ()
    found = make(1000, low=2.5, high=4.5)
    assert 2.5 <= found.min() < 2.6 and 4.4 < found.max() < 4.5
    assert make(1000, dtype=torch.int64, low=2.5, high=4.5).unique().tolist() == [3, 4]
    assert make(5, low=-INF, high=INF).isfinite().all()
    assert make(9, dtype=torch.int8, low=0, high=500).max() <= 127
    assert make(3, 4, noncontiguous=True).stride() == (8, 2) and make(3, requires_grad=True).requires_grad
    with pytest.warns(FutureWarning):
        assert make(3, low=2, high=2).tolist() == [2.0] * 3
    for more, kind in (
        ({"low": 3, "high": 2}, ValueError),
        ({"low": NAN}, ValueError),
        ({"dtype": torch.int64, "low": 2, "high": 2}, ValueError),
        ({"dtype": torch.int64, "requires_grad": True}, ValueError),
        ({"dtype": torch.uint8, "low": 300, "high": 400}, ValueError),
        ({"dtype": torch.complex64}, TypeError),
        ({"dtype": "x"}, TypeError),
        ({"memory_format": 1}, TypeError),
        ({"memory_format": 1, "noncontiguous": True}, ValueError),
    ):
        with pytest.raises(kind):
            make(3, **more)
    with pytest.raises(TypeError):
        make_tensor(3, dtype=torch.float32)


# --- names for files, and torch.onnx


class Point:
    def __init__(self, x):
        self.x = x


def origin():
    return Point(torch.zeros(1))


def test_safe_globals():
    file = io.BytesIO()
    torch.save({"p": Point(torch.ones(2)), "f": origin}, file)

    def load():
        file.seek(0)
        return torch.load(file)

    serialization = torch.serialization
    assert serialization.get_safe_globals() == []
    with pytest.raises(pickle.UnpicklingError, match="Point"):
        load()
    with serialization.safe_globals([Point, origin]):
        assert load()["p"].x.tolist() == [1.0, 1.0] and load()["f"] is origin
        assert serialization.get_safe_globals() == [Point, origin]
    with pytest.raises(pickle.UnpicklingError):
        load()
    serialization.add_safe_globals([origin])
    serialization.add_safe_globals([(Point, f"{__name__}.Point"), origin])
    assert type(load()["p"]) is Point and len(serialization.get_safe_globals()) == 2
    serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        load()
    with pytest.raises(TypeError):
        serialization.add_safe_globals(3)


def test_onnx_says_that_it_writes_nothing():
    assert not torch.onnx.is_in_onnx_export() and issubclass(torch.onnx.OnnxExporterError, RuntimeError)
    with pytest.raises(NotImplementedError, match="ONNX"):
        torch.onnx.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),), "model.onnx", opset_version=18)


@torch.jit.script
def scripted(x: torch.Tensor, rate: float) -> torch.Tensor:
    return x if torch.jit.is_scripting() else x * rate


class Marked(torch.nn.Module):
    scale: torch.jit.Final[float]

    def __init__(self):
        super().__init__()
        self.scale = 2.0

    @torch.jit.export
    def forward(self, x):
        return torch.jit.wait(torch.jit.fork(self.scaled, x))

    @torch.jit.ignore
    def scaled(self, x):
        return scripted(x, self.scale) if torch.jit.isinstance(x, torch.Tensor) else self.unknown(x)

    @torch.jit.unused
    def unknown(self, x):
        raise TypeError


def test_what_is_scripted_runs_as_python():
    x = torch.ones(2)
    model = torch.jit.script(Marked())
    assert type(model) is Marked and model(x).tolist() == [2, 2]
    assert torch.compile(model, fullgraph=True)(x).tolist() == [2, 2]
    assert torch.jit.ignore(drop=True)(scripted) is scripted and not isinstance(scripted, torch.jit.ScriptFunction)
    is_instance = torch.jit.isinstance
    assert is_instance([x], list[torch.Tensor]) and not is_instance([1], list[torch.Tensor])
    assert (
        is_instance({"a": 1}, dict[str, int])
        and is_instance(None, int | None)
        and is_instance((1, x), tuple[int, torch.Tensor])
    )
    with pytest.raises(NotImplementedError, match="torch.jit.trace"):
        torch.jit.save(model, "m.pt")
