"""torch.utils.tensorboard, with stand-ins for the messages and the file writer of the tensorboard package."""

import importlib
import io
import sys
import types

import numpy as np
import pytest

import minidynamo as torch


class Message:
    """Keeps what it is made of."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def SerializeToString(self):  # noqa: N802  the package's name
        return b""


class EventFileWriter:
    files = {}

    def __init__(self, logdir, max_queue_size, flush_secs, filename_suffix):
        self.events = self.files.setdefault(logdir, [])

    def add_event(self, event):
        self.events.append(event)

    def flush(self):
        pass

    def close(self):
        pass


def message(name, **parts):
    return type(name, (Message,), parts)


MODULES = {
    "tensorboard": {},
    "tensorboard.compat.proto.event_pb2": {"Event": message("Event")},
    "tensorboard.compat.proto.summary_pb2": {
        "HistogramProto": message("HistogramProto"),
        "Summary": message("Summary", Value=message("Value"), Image=message("Image")),
        "SummaryMetadata": message("SummaryMetadata", PluginData=message("PluginData")),
    },
    "tensorboard.compat.proto.tensor_pb2": {"TensorProto": message("TensorProto")},
    "tensorboard.compat.proto.tensor_shape_pb2": {"TensorShapeProto": message("TensorShapeProto", Dim=message("Dim"))},
    "tensorboard.plugins.text.plugin_data_pb2": {"TextPluginData": message("TextPluginData")},
    "tensorboard.summary.writer.event_file_writer": {"EventFileWriter": EventFileWriter},
}


@pytest.fixture
def board(monkeypatch):
    for name, contents in MODULES.items():
        for package in (name.rsplit(".", k)[0] for k in range(name.count(".") + 1)):
            monkeypatch.setitem(sys.modules, package, sys.modules.get(package) or types.ModuleType(package))
        vars(sys.modules[name]).update(contents)
    EventFileWriter.files.clear()
    yield importlib.import_module("minidynamo.utils.tensorboard")
    for name in [name for name in sys.modules if name.startswith("minidynamo.utils.tensorboard")]:
        del sys.modules[name]


def values(folder):
    return [
        (event.__dict__.get("step"), value) for event in EventFileWriter.files[folder] for value in event.summary.value
    ]


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)  # as if it were not installed
    with pytest.raises(ModuleNotFoundError, match="tensorboard"):
        importlib.import_module("minidynamo.utils.tensorboard")
    assert not hasattr(torch.utils, "tensorboard")


def test_numbers(board):
    with board.SummaryWriter("run", flush_secs=5) as writer:
        writer.add_scalar("loss", torch.tensor([1.5], requires_grad=True), 3)
        writer.add_scalar("loss", 2, new_style=True)
        writer.add_scalars("a/b", {"train": 1.0, "test": np.float32(2)}, 4)
        with pytest.raises(AssertionError, match="scalar should be 0D"):
            writer.add_scalar("loss", torch.ones(2))
    (step, first), (no_step, second) = values("run")
    assert (step, first.tag, first.simple_value) == (3, "loss", 1.5)
    assert no_step is None and second.tensor.float_val == [2.0]
    assert {key: values(key)[0][1].simple_value for key in ("run/a_b_train", "run/a_b_test")} == {
        "run/a_b_train": 1.0,
        "run/a_b_test": 2.0,
    }


@pytest.mark.parametrize("settings", [{}, {"bins": 7}, {"max_bins": 10}])
def test_histograms(board, settings):
    numbers = np.random.default_rng(0).standard_normal(500)
    writer = board.SummaryWriter("run")
    writer.add_histogram("h", torch.tensor(numbers), 1, **settings)
    (_, value), *_ = values("run")
    h = value.histo
    assert (h.num, h.min, h.max) == (500, numbers.min(), numbers.max())
    assert h.sum == pytest.approx(numbers.sum()) and h.sum_squares == pytest.approx((numbers**2).sum())
    assert len(h.bucket) == len(h.bucket_limit) and sum(h.bucket) == 500 and h.bucket[0] == 0
    for left, right, count in zip(h.bucket_limit, h.bucket_limit[1:], h.bucket[1:]):
        last = right == h.bucket_limit[-1]
        assert count == ((numbers >= left) & ((numbers <= right) if last else (numbers < right))).sum()
    with pytest.raises(ValueError, match="no element"):
        writer.add_histogram("h", torch.zeros(0))


def pixels(value):
    from PIL import Image

    found = np.array(Image.open(io.BytesIO(value.image.encoded_image_string)))
    assert found.shape[:2] == (value.image.height, value.image.width)
    return found


def test_pictures(board):
    writer = board.SummaryWriter("run")
    floats = torch.tensor([[[0.0, 0.5], [1.0, 2.0]]] * 3)
    writer.add_image("i", floats, 1)
    writer.add_image("j", np.arange(6, dtype=np.uint8).reshape(2, 3), 1, dataformats="HW")
    writer.add_images("k", torch.arange(9.0).reshape(9, 1, 1, 1).expand(9, 3, 2, 2) / 9, 1)
    i, j, k = (pixels(value) for _, value in values("run"))
    assert i[..., 0].tolist() == [[0, 127], [255, 255]] and j[..., 2].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert k.shape == (4, 16, 3) and k[0, 2, 0] == 28 and k[2, 0, 0] == 226 and k[2, 2, 0] == 0
    with pytest.raises(AssertionError, match="cannot be read as"):
        writer.add_image("i", floats, dataformats="HW")


def test_texts_and_what_is_not_there(board):
    writer = board.SummaryWriter("run")
    writer.add_text("t", "hello")
    ((_, value),) = values("run")
    assert value.tag == "t/text_summary" and value.tensor.string_val == [b"hello"]
    with pytest.raises(NotImplementedError, match="add_graph"):
        writer.add_graph(torch.nn.Linear(1, 1))
    with pytest.raises(TypeError, match="dictionary"):
        writer.add_hparams([], {})
