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


def test_shared_memory_stays_shared(tmp_path):
    a = torch.arange(6.0)
    p = torch.nn.Parameter(torch.ones(2))
    torch.save([a, a[2:], a.view(2, 3).t(), {"p": p, "again": p, "part": p.detach()[1:]}], tmp_path / "f")
    b, tail, turned, rest = torch.load(tmp_path / "f", weights_only=False)
    b[2] = 9
    assert tail.tolist() == [9, 3, 4, 5] and turned.tolist() == [[0, 3], [1, 4], [9, 5]]
    assert rest["p"] is rest["again"] and type(rest["p"]) is torch.nn.Parameter and rest["p"].requires_grad
    rest["part"].fill_(7)
    assert rest["p"].tolist() == [1, 7]
    torch.save([torch.zeros(1).expand(1 << 20), torch.zeros(1 << 10)], tmp_path / "f")
    assert os.path.getsize(tmp_path / "f") < 1 << 14 and torch.load(tmp_path / "f")[0].stride() == (0,)


def saved(tmp_path, archive=False):
    path = tmp_path / "saved.pt"
    value = {"a": torch.arange(3), "b": [torch.ones(2), "text"]}
    torch.save(value, path, _use_new_zipfile_serialization=archive)
    return path, path.read_bytes()


@pytest.mark.parametrize("archive, weights_only", [(False, True), (False, False), (True, True), (True, False)])
def test_damage_of_any_byte(tmp_path, archive, weights_only):
    path, good = saved(tmp_path, archive)
    changes = (0x01, 0x80, 0xFF)
    for at in range(len(good)):
        for change in changes if at < 200 else changes[at % 3 :][:1]:  # later ones take turns
            bad = bytearray(good)
            bad[at] ^= change
            path.write_bytes(bad)
            with pytest.raises(RuntimeError, match="saved.pt"):
                torch.load(path, weights_only=weights_only)


@pytest.mark.parametrize("archive", [False, True])
def test_wrong_lengths_and_other_files(tmp_path, archive):
    path, good = saved(tmp_path, archive)
    others = [b"\0", b"PK\x03\x04" * 20, pickle.dumps([1]), b"mdtensor", b"\x80\x04" + b"\xff" * 60]
    for bad in [*(good[:n] for n in range(len(good))), good + b"\0", good + good, *others]:
        path.write_bytes(bad)
        with pytest.raises(RuntimeError, match="saved.pt"):
            torch.load(path)
        if not bad.startswith(good):  # from a file object what follows is left to its owner
            with open(path, "rb") as file, pytest.raises(RuntimeError, match="saved.pt"):
                torch.load(file)
    several = io.BytesIO(good + good)
    assert torch.load(several)["b"][1] == torch.load(several)["b"][1] == "text"


def test_a_length_in_the_header_is_no_allocation(tmp_path):
    path, good = saved(tmp_path)
    for length in (2**40, 2**63, 2**64 - 1):
        bad = good[:12] + length.to_bytes(8, "little") + good[20:]
        path.write_bytes(bad)
        with pytest.raises(RuntimeError, match="saved.pt.*damaged"):
            torch.load(path)
        with pytest.raises(RuntimeError, match="damaged"):
            torch.load(io.BytesIO(bad))


@pytest.mark.parametrize(
    "arguments",
    [
        ((9,), (1,), 0, torch.float32),
        ((2,), (1,), 3, torch.float32),
        ((2**61, 4), (0, 0), 0, torch.float32),
        ((2,), (-1,), 1, torch.float32),
        ((-1,), (1,), 0, torch.float32),
        ((2,), (1,), -1, torch.float32),
        ((2,), (1, 1), 0, torch.float32),
        ((2,), (2**62,), 0, torch.float64),
        ((0,), (1,), 2**62, torch.float64),
    ],
)
def test_a_crafted_file_stays_inside_its_memory(tmp_path, arguments):
    import hashlib

    class Crafted:
        def __reduce__(self):
            return torch._rebuild_view, (torch.zeros(16, dtype=torch.uint8), *arguments, False, torch.Tensor)

    body = pickle.dumps(Crafted(), protocol=4)
    _, good = saved(tmp_path)
    header = good[:12] + len(body).to_bytes(8, "little") + hashlib.sha256(body).digest()
    (tmp_path / "crafted.pt").write_bytes(header + body)
    with pytest.raises(RuntimeError, match="crafted.pt"):
        torch.load(tmp_path / "crafted.pt")


class Settings:
    def __init__(self, rate=0.1):
        self.rate = rate


def written(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file


def test_classes_that_are_safe():
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        torch.load(written(Settings()))
    with torch.serialization.safe_globals([Settings]):
        assert torch.load(written(Settings(0.5))).rate == 0.5
        assert torch.serialization.get_safe_globals() == [Settings]
    torch.serialization.add_safe_globals([(Settings, f"{__name__}.Settings")])
    assert torch.load(written(Settings(0.5))).rate == 0.5
    torch.serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        torch.load(written(Settings()))


def test_parameters_and_counters():
    parameter = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    back = torch.load(written({"p": parameter, "n": collections.Counter("aab")}))
    assert type(back["p"]) is torch.nn.Parameter and not back["p"].requires_grad and back["n"]["a"] == 2


@pytest.mark.parametrize("weights_only", [True, False])
def test_where_to(weights_only):
    value = {"x": torch.ones(2), "p": torch.nn.Parameter(torch.ones(3))}
    seen = []

    def same(memory, place):
        seen.append((memory.numel(), place))
        return memory

    for place in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, {"cpu": "cpu"}, same, lambda memory, place: None):
        back = torch.load(written(value), map_location=place, weights_only=weights_only)
        assert back["x"].tolist() == [1.0, 1.0] and back["p"].device.type == "cpu"
    assert seen == [(8, "cpu"), (12, "cpu")]
    for place in ("meta", torch.device("meta"), {"cpu": "meta"}):
        back = torch.load(written(value), place, weights_only=weights_only)
        assert back["x"].is_meta and back["p"].is_meta and back["p"].requires_grad
        assert type(back["p"]) is torch.nn.Parameter


def test_options_that_cannot_be_followed():
    file = written([1])
    for wrong, error in [("nonsense", RuntimeError), (3, TypeError), (lambda *_: torch.ones(1), NotImplementedError)]:
        with pytest.raises(error):
            torch.load(written(torch.ones(1)), map_location=wrong)
    with pytest.raises(NotImplementedError, match="mmap"):
        torch.load(file, mmap=True)
    with pytest.raises(RuntimeError, match="weights_only=False"):
        torch.load(file, pickle_module=collections)
    with pytest.raises(TypeError):
        torch.load(file, unknown=1)
    assert torch.load(written([1]), pickle_module=pickle, weights_only=False, encoding="utf-8") == [1]
    for protocol in range(6):
        assert torch.load(written([1, torch.ones(2).shape, {2}], pickle_protocol=protocol)) == [1, (2,), {2}]
    with pytest.raises(NotImplementedError, match="standard pickle"):
        torch.save([1], io.BytesIO(), pickle_module=collections)
    assert torch.load(written([1], pickle_protocol=2, _use_new_zipfile_serialization=False)) == [1]
