"""Values as the messages of event files."""

import io

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from ..._absent import absent_names as _absent_names


def array_of(values):
    """An array of a tensor, wherever its history ends, of an array or of numbers."""
    return values.detach().numpy() if hasattr(values, "detach") else np.asarray(values)


def scalar(name, value, new_style=False, double_precision=False):
    """A summary of one number. AssertionError for more than one."""
    number = array_of(value)
    if number.size != 1:
        raise AssertionError(f"scalar should be 0D, got {number.size} elements")
    number = float(number.reshape(()))
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=number)])
    held = {"dtype": "DT_DOUBLE", "double_val": [number]} if double_precision else {}
    held = held or {"dtype": "DT_FLOAT", "float_val": [number]}
    about = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
    return Summary(value=[Summary.Value(tag=name, tensor=TensorProto(**held), metadata=about)])


def _logarithmic():
    """Limits 10 % apart from 1e-12 to 1e20, below 0 as well."""
    limits = [1e-12]
    while limits[-1] < 1e20:
        limits.append(limits[-1] * 1.1)
    return np.array([-x for x in reversed(limits)] + [0.0] + limits)


def histogram(name, values, bins="tensorflow", max_bins=None):
    """A summary of how many values lie in which range. ValueError where there are none."""
    flat = array_of(values).astype(np.float64).reshape(-1)
    if flat.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(flat, _logarithmic() if isinstance(bins, str) and bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        starts = np.arange(0, len(counts), step)
        limits = np.append(limits[starts], limits[-1])
        counts = np.add.reduceat(counts, starts)
    used = np.nonzero(counts)[0]
    first, last = used[0], used[-1] + 1
    # The empty range before the first one says where that begins.
    shown = [0.0, *counts[first:last]]
    found = HistogramProto(
        min=flat.min(),
        max=flat.max(),
        num=flat.size,
        sum=flat.sum(),
        sum_squares=flat @ flat,
        bucket_limit=limits[first : last + 1].tolist(),
        bucket=[float(n) for n in shown],
    )
    return Summary(value=[Summary.Value(tag=name, histo=found)])


def _grid(pictures):
    """(n, h, w, c) pictures side by side, eight in a row."""
    n, height, width, channels = pictures.shape
    columns = min(n, 8)
    rows = -(-n // columns)
    whole = np.zeros((rows * height, columns * width, channels), pictures.dtype)
    for i, picture in enumerate(pictures):
        y, x = i // columns * height, i % columns * width
        whole[y : y + height, x : x + width] = picture
    return whole


def image(name, values, dataformats):
    """A summary of a picture, or of several as one. AssertionError where `dataformats` does not fit."""
    pixels, named = array_of(values), dataformats.upper()
    if len(set(named)) != len(named) or set(named) - set("NCHW") or pixels.ndim != len(named):
        raise AssertionError(f"{list(pixels.shape)} cannot be read as {dataformats}")
    for missing in "NC":
        if missing not in named:
            pixels, named = pixels[None], missing + named
    pixels = _grid(pixels.transpose([named.index(d) for d in "NHWC"]))
    if pixels.dtype != np.uint8:
        pixels = (pixels.astype(np.float32) * 255.0).clip(0, 255).astype(np.uint8)
    pixels = np.repeat(pixels, 3, 2) if pixels.shape[2] == 1 else pixels
    return Summary(value=[Summary.Value(tag=name, image=_png(pixels))])


def _png(pixels):
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG")
    height, width, channels = pixels.shape
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue())


def drawn(figure, close):
    """A matplotlib figure as (height, width, 4) bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.array(canvas.buffer_rgba())
    if close:
        import matplotlib.pyplot as plt

        plt.close(figure)
    return pixels


def text(name, words):
    """A summary of a text."""
    from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

    kind = SummaryMetadata.PluginData(plugin_name="text", content=TextPluginData(version=0).SerializeToString())
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    held = TensorProto(dtype="DT_STRING", string_val=[str(words).encode()], tensor_shape=shape)
    about = SummaryMetadata(plugin_data=kind)
    return Summary(value=[Summary.Value(tag=f"{name}/text_summary", metadata=about, tensor=held)])


def _hparams(tag, **parts):
    """A summary of one message of TensorBoard's page about hyperparameters, which is kept beside an empty tensor."""
    from tensorboard.plugins.hparams.metadata import PLUGIN_DATA_VERSION, PLUGIN_NAME
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    content = HParamsPluginData(version=PLUGIN_DATA_VERSION, **parts).SerializeToString()
    kind = SummaryMetadata.PluginData(plugin_name=PLUGIN_NAME, content=content)
    return Summary(value=[Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=kind))])


def _kind_of(value):
    """The field of google.protobuf.Value for it, and the number that TensorBoard has for its type."""
    if isinstance(value, str):
        return "string_value", 1
    return ("bool_value", 2) if isinstance(value, bool) else ("number_value", 3)


def hyperparameters(tried, reached, domains=None):
    """Summaries of what a run was tried with: the experiment, the start of the run with its values, its end.

    Values are numbers, bools, texts or tensors of one element; ValueError for others. None is left out.
    """
    from google.protobuf.struct_pb2 import ListValue, Value
    from tensorboard.plugins.hparams.api_pb2 import Experiment, HParamInfo, MetricInfo, MetricName, Status
    from tensorboard.plugins.hparams.metadata import EXPERIMENT_TAG, SESSION_END_INFO_TAG, SESSION_START_INFO_TAG
    from tensorboard.plugins.hparams.plugin_data_pb2 import SessionEndInfo, SessionStartInfo

    start, infos = SessionStartInfo(), []
    for name, value in tried.items():
        if value is None:
            continue
        value = array_of(value).item() if hasattr(value, "detach") else value
        if not isinstance(value, (str, bool, int, float)):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        field, number = _kind_of(value)
        setattr(start.hparams[name], field, value)
        domain = None
        if domains and name in domains:
            domain = ListValue(values=[Value(**{_kind_of(each)[0]: each}) for each in domains[name]])
        infos.append(HParamInfo(name=name, type=number, domain_discrete=domain))
    metrics = [MetricInfo(name=MetricName(tag=name)) for name in reached]
    return (
        _hparams(EXPERIMENT_TAG, experiment=Experiment(hparam_infos=infos, metric_infos=metrics)),
        _hparams(SESSION_START_INFO_TAG, session_start_info=start),
        _hparams(SESSION_END_INFO_TAG, session_end_info=SessionEndInfo(status=Status.Value("STATUS_SUCCESS"))),
    )


__getattr__ = _absent_names(__name__)
