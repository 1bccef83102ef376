"""torch.Stream and torch.Event: on the CPU a call has done its work when it returns. Of CUDA devices: torch.cuda's."""

from . import _C
from ._no_device import is_present, refuse


def _cpu(device, what):
    made = _C.device("cpu" if device is None else device)
    if made.type != "cpu":
        refuse(made.type.upper())
    return made


def _is_cuda(device):
    return device is not None and _C.device(device).type == "cuda" and is_present()


def _become(made, other):
    """What was begun here is an object of torch.cuda."""
    made.__class__ = type(other)
    made.__dict__.update(other.__dict__)


class Event:
    """A point in a stream, passed as soon as it is made."""

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        if _is_cuda(device):
            from .cuda import streams

            return _become(self, streams.Event(enable_timing, blocking, interprocess))
        self.device, self.event_id = _cpu(device, "Event"), 0
        self._timed, self._at = enable_timing, None

    def record(self, stream=None):
        """Here is the point."""
        import time

        self._at = time.perf_counter()

    def wait(self, stream=None):
        """Nothing: what was called before is done."""

    def synchronize(self):
        """Nothing: what was called before is done."""

    def query(self):
        """True: what was called before is done."""
        return True

    def elapsed_time(self, end_event):
        """Milliseconds between two points that were recorded with `enable_timing`."""
        if not self._timed or not end_event._timed:
            raise ValueError("both events have to be made with enable_timing=True")
        if self._at is None or end_event._at is None:
            raise ValueError("both events have to be recorded first")
        return (end_event._at - self._at) * 1e3

    def __repr__(self):
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag=0, event_id={self.event_id}"


class Stream:
    """Work in order. There is one order, that of the calls; as a context it changes nothing."""

    def __init__(self, device=None, *, priority=0):
        if _is_cuda(device):
            from .cuda import streams

            return _become(self, streams.Stream(device, priority))
        self.device, self.stream_id, self.priority = _cpu(device, "Stream"), 0, priority
        self.device_index, self.device_type = -1, 0

    def query(self):
        """True: what was called before is done."""
        return True

    def synchronize(self):
        """Nothing: what was called before is done."""

    def wait_event(self, event):
        """Nothing: what was called before is done."""

    def wait_stream(self, stream):
        """Nothing: what was called before is done."""

    def record_event(self, event=None):
        """An event at this point."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return False

    def __eq__(self, other):
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self):
        return hash(self.device)

    def __repr__(self):
        return f"torch.Stream device_type={self.device.type}, device_index=-1, stream_id=0"
