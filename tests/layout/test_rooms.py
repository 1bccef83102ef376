"""Each layer is a row of rooms, from the ground up (rooms.toml): no room includes one above it."""

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("rooms", ROOT / "tools" / "rooms.py")
rooms = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rooms)
LAYERS = rooms.read_rooms()


@pytest.mark.parametrize("layer", LAYERS)
def test_every_file_is_in_a_room(layer):
    places = {path.relative_to(ROOT / layer).parts[0] for path in rooms.files_of(layer)}
    assert places == set(LAYERS[layer])


@pytest.mark.parametrize("layer", LAYERS)
def test_no_room_includes_one_above_it(layer):
    order = list(LAYERS[layer])
    upward = [
        f"{file} includes {included}"
        for (room, other), pairs in rooms.arrows(layer).items()
        for file, included in pairs
        if order.index(other) > order.index(room)
    ]
    assert upward == []


@pytest.mark.parametrize("layer", LAYERS)
def test_included_files_exist(layer):
    missing = [
        f"{file} includes {included}"
        for pairs in rooms.arrows(layer).values()
        for file, included in pairs
        if not (ROOT / included).exists()
    ]
    assert missing == []


def test_the_picture_is_up_to_date():
    old, new = rooms.page_with_drawing()
    assert rooms.BEGIN in old
    assert old == new, "run tools/rooms.py"


def test_direct_arrows_leave_out_what_follows():
    assert rooms.direct([("a", "b"), ("a", "c"), ("b", "c")]) == [("a", "b"), ("b", "c")]
