"""save and load: what comes back, what load refuses, and save in compiled code."""

import collections
import io
import os
import pickle

import pytest

import minidynamo as torch


def test_round_trip(tmp_path):
    shared = torch.arange(6.0).view(2, 3).t()
    value = {"a": shared, "b": [torch.tensor(True), torch.tensor([1, 2]), torch.float64], "c": (1, "x", None, {2})}
    value["d"] = collections.OrderedDict(k=torch.zeros(0, 2, dtype=torch.int32))
    for target in (tmp_path / "file.pt", str(tmp_path / "other.pt"), io.BytesIO()):
        torch.save(value, target)
        if isinstance(target, io.BytesIO):
            target.seek(0)
        back = torch.load(target)
        assert back["a"].tolist() == shared.tolist() and back["b"][0].dtype == torch.bool
        assert back["b"][1].tolist() == [1, 2] and back["b"][2] is torch.float64
        assert back["c"] == value["c"] and tuple(back["d"]["k"].shape) == (0, 2)


class Danger:
    def __reduce__(self):
        return os.getcwd, ()


def test_load_runs_no_code_unless_told(tmp_path):
    for refused in (Danger(), print, pickle.Unpickler):
        torch.save(refused, tmp_path / "file.pt")
        with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
            torch.load(tmp_path / "file.pt")
    torch.save(Danger(), tmp_path / "file.pt")
    assert torch.load(tmp_path / "file.pt", weights_only=False) == os.getcwd()


def test_save_in_compiled_code(tmp_path):
    path = str(tmp_path / "half.pt")

    def f(x):
        y = x**2 / 2
        torch.save(y, path)
        return y**3 / 6

    with pytest.raises(torch._dynamo.exc.Unsupported, match="Attempted to call function marked as skipped") as info:
        torch.compile(f, fullgraph=True)(torch.ones(3))
    assert info.value.gb_code == "GB0007" and not os.path.exists(path)
    assert "qualname: save, skip reason: <missing reason>" in str(info.value)
    x = torch.tensor([1.0, 2.0])
    counter = torch._dynamo.testing.CompileCounter()
    assert torch.compile(f, backend=counter)(x).tolist() == f(x).tolist()
    assert counter.frame_count == 2 and torch.load(path).tolist() == [0.5, 2.0]
