"""SummaryWriter: scalars, histograms, images, texts and hyperparameters of a run as events that TensorBoard shows."""

import datetime
import os
import socket
import time

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ..._absent import absent_names as _absent_names
from . import summary


class SummaryWriter:
    """Writes events to a file in `log_dir`, which is runs/<time>_<host><comment> where none is given.

    They are numbers, arrays or tensors under a `tag`, at a step; an event's time is now unless `walltime` says another.
    Steps before `purge_step` are shown no longer. Usable in a with statement.
    """

    def __init__(
        self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""
    ):  # fmt: skip
        if not log_dir:
            now = datetime.datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step = purge_step
        self._settings = {"max_queue_size": max_queue, "flush_secs": flush_secs, "filename_suffix": filename_suffix}
        self.file_writer = None
        self._of_lines = {}
        self._open()
        if purge_step is not None:
            self.file_writer.add_event(Event(wall_time=time.time(), file_version="brain.Event:2", step=purge_step))

    def _open(self):
        if self.file_writer is None:
            self.file_writer = EventFileWriter(self.log_dir, **self._settings)
        return self.file_writer

    def _add(self, value, step, walltime):
        event = Event(wall_time=time.time() if walltime is None else walltime, summary=value)
        if step is not None:
            event.step = int(step)
        self._open().add_event(event)

    def get_logdir(self):
        """Where the events are written."""
        return self.log_dir

    def add_scalar(
        self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False
    ):  # fmt: skip
        """One number. With `new_style` as a tensor, of float64 with `double_precision`."""
        self._add(summary.scalar(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Several numbers in one picture, each by a writer of its own in the folder <main_tag>_<tag>."""
        walltime = time.time() if walltime is None else walltime
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag.replace('/', '_')}_{tag}")
            if folder not in self._of_lines:
                self._of_lines[folder] = SummaryWriter(folder)
            self._of_lines[folder].add_scalar(main_tag, value, global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """How many values lie in which range: `bins` as numpy.histogram() takes them, or "tensorflow" for a
        logarithmic scale; `max_bins` joins neighbours."""
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """A picture of one, three or four channels: bytes, or floats from 0 to 1. `dataformats` names dimensions."""
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Several pictures as one, in a grid."""
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A matplotlib figure, or a list of them; closed afterwards unless `close` is False."""
        figures = figure if isinstance(figure, list) else [figure]
        self.add_images(tag, np.stack([summary.drawn(f, close) for f in figures]), global_step, walltime, "NHWC")

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """A text, which TensorBoard reads as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """What a run was tried with and what came out, in a folder of its own below `log_dir`."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        with SummaryWriter(folder) as run:
            for each in summary.hyperparameters(hparam_dict, metric_dict, hparam_domain_discrete):
                run._add(each, None, None)
            for name, value in metric_dict.items():
                run.add_scalar(name, value, global_step)

    def flush(self):
        """Writes what is waiting to be written."""
        for writer in (self, *self._of_lines.values()):
            if writer.file_writer is not None:
                writer.file_writer.flush()

    def close(self):
        """Writes what is waiting and closes the files; a later event opens a new one."""
        for writer in (self, *self._of_lines.values()):
            if writer.file_writer is not None:
                writer.file_writer.flush()
                writer.file_writer.close()
                writer.file_writer = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.close()


def _refused(name):
    def method(self, *args, **kwargs):
        raise NotImplementedError(f"SummaryWriter.{name}() is not part of minidynamo")

    method.__name__, method.__qualname__ = name, f"SummaryWriter.{name}"
    method.__doc__ = "NotImplementedError: not part of minidynamo."
    return method


for _name in ("add_graph", "add_embedding", "add_audio", "add_video", "add_mesh", "add_pr_curve", "add_custom_scalars"):
    setattr(SummaryWriter, _name, _refused(_name))

__all__ = ["Event", "EventFileWriter", "Summary", "SummaryWriter"]
__getattr__ = _absent_names(__name__)
