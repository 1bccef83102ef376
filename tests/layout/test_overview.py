"""The picture of the whole shows the layers, rooms and files there are."""

import importlib.util
import pathlib
import xml.etree.ElementTree

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("overview", ROOT / "tools/overview.py")
overview = importlib.util.module_from_spec(spec)
spec.loader.exec_module(overview)


def test_the_picture_is_up_to_date():
    assert overview.TARGET.read_text(encoding="utf-8") == overview.drawing(), "run tools/overview.py"


def test_every_room_and_step_is_drawn():
    picture = xml.etree.ElementTree.fromstring(overview.drawing())
    words = {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"python/", "frontend/", "backend/", "ir/", "registry/", "driver", "cpython", "machine", "core"} <= words
    assert set(overview.STEPS) <= words
    assert all((ROOT / step).exists() for step in overview.STEPS)


def test_another_list_of_files_is_refused(monkeypatch):
    monkeypatch.setattr(overview, "STEPS", dict.fromkeys(reversed(overview.STEPS), ""))
    with pytest.raises(ValueError, match="other files"):
        overview.read_steps()
