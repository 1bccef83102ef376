"""torch.hub with folders on this machine."""

import sys

import pytest

import minidynamo as torch
from minidynamo import hub

PROGRAM = '''
from helper_of_hub import scale
dependencies = ["json"]
def net(size, bias=True):
    """A layer."""
    import minidynamo
    return minidynamo.nn.Linear(scale * size, 1, bias=bias)
def _hidden():
    pass
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(PROGRAM)
    (tmp_path / "helper_of_hub.py").write_text("scale = 2")
    yield tmp_path
    sys.modules.pop("helper_of_hub", None)


def test_what_a_folder_offers(folder):
    assert "net" in hub.list(folder, source="local") and "_hidden" not in hub.list(folder, source="local")
    assert hub.help(folder, "net", source="local") == "A layer."
    net = hub.load(folder, "net", 3, source="local", bias=False)
    assert net.weight.shape == (1, 6) and net.bias is None
    with pytest.raises(RuntimeError, match="Cannot find callable nothing in hubconf"):
        hub.load(folder, "nothing", source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        hub.load(folder, "net", source="elsewhere")
    (folder / "hubconf.py").write_text('dependencies = ["no_such_package"]')
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.list(folder, source="local")


def test_nothing_is_downloaded(tmp_path, monkeypatch):
    for call in (
        lambda: hub.load("owner/name", "net"),
        lambda: hub.download_url_to_file("https://example.org/a.pt", tmp_path / "a.pt"),
        lambda: hub.load_state_dict_from_url("https://example.org/a.pt", model_dir=tmp_path),
    ):
        with pytest.raises(RuntimeError, match="minidynamo downloads nothing"):
            call()
    torch.save({"a": torch.ones(2)}, tmp_path / "a.pt")
    found = hub.load_state_dict_from_url("https://example.org/a.pt", model_dir=tmp_path)
    assert found["a"].tolist() == [1.0, 1.0]
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert hub.get_dir() == str(tmp_path / "hub")


def test_progress_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.delitem(sys.modules, "minidynamo.hub")
    from importlib import import_module

    tqdm = import_module("minidynamo.hub").tqdm
    monkeypatch.setitem(sys.modules, "minidynamo.hub", hub)
    with tqdm([1, 2, 3], desc="steps") as bar:
        assert list(bar) == [1, 2, 3] and bar.n == 3 and len(bar) == 3
        bar.set_postfix(loss=1.0)
