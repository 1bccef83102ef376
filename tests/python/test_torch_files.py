"""load() of files that torch wrote (torch_files/, made by the script there), and what save() writes for torch."""

import base64
import collections
import io
import json
import pathlib
import pickle
import zipfile

import pytest

import minidynamo as torch
from minidynamo import archive_writer

STORED = json.loads((pathlib.Path(__file__).parent / "torch_files" / "files.json").read_text())
DTYPES = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()


def written(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file


def by_torch(name):
    return io.BytesIO(base64.b64decode(STORED[name]))


def check_values(found):
    assert found["memory"].tolist() == [0, 1, 2, 3, 4, 5] and found["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    found["memory"][2] = 9
    assert found["tail"].tolist() == [9, 3, 4, 5] and found["turned"][2, 0] == 9
    assert found["spread"].stride() == (0,) and found["spread"].tolist() == [1] * 4
    assert found["empty"].shape == (0, 3) and found["required"].requires_grad and found["required"].is_leaf
    first, again, frozen = found["parameters"]
    assert first is again and type(first) is torch.nn.Parameter and first.tolist() == [1.5, -2.0]
    assert first.requires_grad and not frozen.requires_grad and frozen.tag == "kept"
    assert found["facts"] == (torch.Size([2, 3]), torch.float16, torch.device("cpu"))
    assert type(found["facts"][0]) is torch.Size
    assert found["plain"] == {"z": (1, 2.5, None, "s", True, b"xy", 2**80), "s": {1, 2}, "c": 1j}
    assert type(found["plain"]) is collections.OrderedDict
    for name in DTYPES:
        made = found["dtypes"][name]
        assert made.dtype is getattr(torch, name) and made.tolist() == [1, 0, 1 if name == "bool" else 3]
    model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.BatchNorm1d(1))
    model.load_state_dict(found["model"])
    assert found["model"]._metadata["1"] == {"version": 2} and model[1].num_batches_tracked == 1
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.load_state_dict(found["optimizer"])
    assert optimizer.state[model[0].weight]["step"] == 1


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", ["values.pt", "values_before_1_6.pt"])
def test_values_that_torch_wrote(tmp_path, name, weights_only):
    found = torch.load(by_torch(name), weights_only=weights_only)
    check_values(torch.load(written(found), weights_only=weights_only))
    check_values(torch.load(written(found, _use_new_zipfile_serialization=False), weights_only=False))
    check_values(found)
    (tmp_path / name).write_bytes(by_torch(name).getvalue())
    check_values(torch.load(tmp_path / name, weights_only=weights_only))


@pytest.mark.parametrize(
    "load", [lambda: torch.load(by_torch("kinds.pt")), lambda: torch.load(written(torch.load(by_torch("kinds.pt"))))]
)
def test_sparse_and_meta_tensors(load):
    found = load()
    assert found["sparse"].is_sparse and found["sparse"].to_dense().tolist() == [[1, 0], [0, 1]]
    assert found["meta"].is_meta and found["meta"].shape == (2, 3)


def test_whole_models():
    with pytest.raises(pickle.UnpicklingError, match="torch.nn.modules.container.Sequential"):
        torch.load(by_torch("whole_model.pt"))
    model = torch.load(by_torch("whole_model.pt"), weights_only=False)
    again = torch.load(written(model), weights_only=False)
    for each in (model, again):
        assert type(each) is torch.nn.Sequential and each(torch.tensor([[1.0, -3.0]])).item() == 0
        assert torch.compile(each)(torch.ones(1, 2)).item() == 6
        each[0].register_forward_hook(lambda module, args, out: out + 1)
        assert each(torch.ones(1, 2)).item() == 7
    names = [torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU]
    safe = [
        (kind, f"torch.nn.modules.{module}.{kind.__name__}")
        for kind, module in zip(names, ["container", "linear", "activation"])
    ]
    with torch.serialization.safe_globals(safe):
        assert torch.load(by_torch("whole_model.pt"))(torch.ones(1, 2)).item() == 6


@pytest.mark.parametrize("name", ["values.pt", "values_before_1_6.pt"])
def test_where_to(name):
    seen = []
    for place in ("cpu", {"cuda:0": "cpu"}, lambda memory, at: seen.append((memory.dtype, at))):
        assert torch.load(by_torch(name), map_location=place)["tail"].tolist() == [2, 3, 4, 5]
    assert set(seen) == {(torch.uint8, "cpu")}
    found = torch.load(by_torch(name), map_location="meta")
    assert found["memory"].is_meta and found["required"].requires_grad and found["parameters"][0].is_meta


def test_memory_of_other_devices(monkeypatch):
    def persistent_id(self):
        kind, name, key, _, count = original(self)
        return kind, name, key, "cuda:1", count

    original = archive_writer._Memory.persistent_id
    monkeypatch.setattr(archive_writer._Memory, "persistent_id", persistent_id)
    data = written({"x": torch.ones(2)}).getvalue()
    with pytest.raises(RuntimeError, match="'cuda'.*map_location='cpu'"):
        torch.load(io.BytesIO(data))
    seen = []
    for place in ("cpu", torch.device("cpu"), {"cuda:1": "cpu"}, lambda memory, at: seen.append(at) or memory):
        assert torch.load(io.BytesIO(data), place)["x"].tolist() == [1, 1]
    assert seen == ["cuda:1"]
    with pytest.raises(RuntimeError, match="'cuda'"):
        torch.load(io.BytesIO(data), {"cpu": "cpu"})


def entries(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: (archive.read(info), info.header_offset) for info in archive.infolist()}


def test_what_an_archive_is_made_of(tmp_path):
    x = torch.arange(3.0)
    torch.save([x, x[1:], torch.tensor([1, 2])], tmp_path / "some.model.pt")
    data = (tmp_path / "some.model.pt").read_bytes()
    found = entries(data)
    assert list(found) == [
        f"some.model/{name}" for name in (".minidynamo_length", "data.pkl", "byteorder", "data/0", "data/1", "version")
    ]
    assert found["some.model/version"][0] == b"3\n" and found["some.model/byteorder"][0] == b"little"
    assert len(found["some.model/data/0"][0]) == 12 and len(found["some.model/data/1"][0]) == 16
    for key in "01":
        assert data.index(found[f"some.model/data/{key}"][0], found[f"some.model/data/{key}"][1]) % 64 == 0
    pickled = found["some.model/data.pkl"][0]
    assert b"torch._utils\n_rebuild_tensor_v2\n" in pickled and b"ctorch\nFloatStorage\n" in pickled
    assert b"minidynamo" not in pickled and pickled[:2] == b"\x80\x02"


def repacked(data, changes):
    """The archive as a program of somebody else's would write it, with other contents."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, (content, _) in entries(data).items():
            if not name.endswith("_length") and changes.get(name.partition("/")[2], b"") is not None:
                made.writestr(name, changes.get(name.partition("/")[2], content))
    return file.getvalue()


def test_archives_of_others(tmp_path):
    path = tmp_path / "other.pt"
    data = written({"a": torch.arange(3)}).getvalue()
    path.write_bytes(repacked(data, {}))
    assert torch.load(path)["a"].tolist() == [0, 1, 2]
    for changes in ({"data/0": None}, {"data/0": b"short"}, {"data.pkl": None}, {"data.pkl": b"\x80\x02]q\x00("}):
        path.write_bytes(repacked(data, changes))
        with pytest.raises(RuntimeError, match="other.pt"):
            torch.load(path)
    for changes in ({"byteorder": b"big"}, {"constants.pkl": b""}):
        path.write_bytes(
            repacked(data, changes) if "byteorder" in changes else with_entry(data, "archive/constants.pkl")
        )
        with pytest.raises(NotImplementedError):
            torch.load(path)


def with_entry(data, name):
    file = io.BytesIO(repacked(data, {}))
    with zipfile.ZipFile(file, "a") as made:
        made.writestr(name, b"")
    return file.getvalue()


@pytest.mark.parametrize(
    "offset, sizes, strides",
    [(0, (9,), (1,)), (3, (2,), (1,)), (0, (2**61, 4), (0, 0)), (1, (2,), (-1,)), (0, (-1,), (1,)), (-1, (2,), (1,))],
)
@pytest.mark.parametrize("version", ["v2", "v3"])
def test_crafted_tensors_stay_inside_their_memory(offset, sizes, strides, version):
    class Crafted(archive_writer.Pickler):
        def _plain(self, obj):
            function, (memory, _, _, _, *rest) = super()._plain(obj)
            if version == "v3":
                function, rest = self.call("torch._utils", "_rebuild_tensor_v3"), [*rest, torch.float64]
            return function, (memory, offset, sizes, strides, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive_writer, "Pickler", Crafted)
        file = written([torch.zeros(4)])
    with pytest.raises(RuntimeError, match="holds what save"):
        torch.load(file)


def test_code_in_a_file_is_not_run():
    for module, name in (
        ("os", "system"),
        ("builtins", "eval"),
        ("__builtin__", "eval"),
        ("torch", "load"),
        ("torch.hub", "load"),
    ):
        code = pickle.GLOBAL + f"{module}\n{name}\n".encode() + b"X\x01\x00\x00\x001\x85R."
        data = repacked(written([1]).getvalue(), {"data.pkl": b"\x80\x02" + code})
        with pytest.raises(pickle.UnpicklingError, match=name):
            torch.load(io.BytesIO(data))
    data = repacked(written([1]).getvalue(), {"data.pkl": b"\x80\x02ctorch.nowhere\nThing\n."})
    with pytest.raises(AttributeError, match="torch.nowhere.Thing"):
        torch.load(io.BytesIO(data), weights_only=False)
