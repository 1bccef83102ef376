"""torch.cuda.streams: orders of work on a CUDA device, and points in them. Without a device none can be made."""

from .. import _C
from .._absent import absent_names as _absent_names
from .._no_device import no_such_object as _no_such_object
from ._ordinals import index_of as _index_of

_runtime = _C._cuda


class Stream(_no_such_object):
    """Work of a device in order, beside that of other streams: Stream(device=None, priority=0).

    `with` it, this thread's work on the device goes there. RuntimeError without a device.
    """

    def __new__(cls, device=None, priority=0, *, stream_id=None, device_index=None, device_type=None):
        if not _runtime.is_present():
            return super().__new__(cls)
        if stream_id is not None:
            return cls._of(_index_of(device_index), stream_id)
        index = _index_of(device)
        return cls._of(index, _runtime.make_stream(index, priority))

    @classmethod
    def _of(cls, index, number):
        made = object.__new__(cls)
        made.device_index, made.stream_id = index, number
        return made

    @property
    def priority(self):
        """A lower number goes first."""
        return _runtime.stream_priority(self.device_index, self.stream_id)

    @staticmethod
    def priority_range():
        """The least and the greatest, of the current device."""
        return _runtime.stream_priorities(_runtime.current_device())

    device_type = 1  # as torch numbers kinds of devices

    @property
    def device(self):
        return _C.device("cuda", self.device_index)

    @property
    def cuda_stream(self):
        """The driver's handle, an int."""
        return _runtime.stream_handle(self.device_index, self.stream_id)

    @property
    def _as_parameter_(self):
        import ctypes

        return ctypes.c_void_p(self.cuda_stream)

    def __cuda_stream__(self):
        return (0, self.cuda_stream)

    def wait_event(self, event):
        """What is called from here on waits for the event."""
        event.wait(self)

    def wait_stream(self, stream):
        """What is called from here on waits for what the other stream has been given up to now."""
        self.wait_event(stream.record_event())

    def record_event(self, event=None):
        """An event, a new one unless it is given, at this point."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self):
        """Whether all its work is done."""
        return _runtime.stream_is_done(self.device_index, self.stream_id)

    def synchronize(self):
        """Waits until all its work is done."""
        _runtime.synchronize_stream(self.device_index, self.stream_id)

    def __enter__(self):
        entered = StreamContext(self)
        entered.__enter__()
        self.__dict__.setdefault("_entered", []).append(entered)
        return self

    def __exit__(self, *error):
        self._entered.pop().__exit__(*error)
        return False

    def __eq__(self, other):
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device_index, self.stream_id) == (other.device_index, other.stream_id)

    def __hash__(self):
        return hash((self.device_index, self.stream_id))

    def __repr__(self):
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream of another library by its handle: ExternalStream(stream_ptr, device=None)."""

    def __new__(cls, stream_ptr, device=None):
        if not _runtime.is_present():
            return super().__new__(cls)
        index = _index_of(device)
        return cls._of(index, _runtime.adopt_stream(index, stream_ptr))


class Event(_no_such_object):
    """A point in a stream: Event(enable_timing=False, blocking=False). RuntimeError without a device.

    Before record() it is passed. Events are of this process: with `interprocess` RuntimeError.
    """

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):
        if not _runtime.is_present():
            return super().__new__(cls)
        if interprocess:
            raise RuntimeError("torch.cuda.Event: events cannot be shared with other processes")
        made = object.__new__(cls)
        made._timed, made._blocking, made._event, made._index = enable_timing, blocking, None, None
        return made

    @property
    def device(self):
        """Where it was recorded, or None."""
        return None if self._index is None else _C.device("cuda", self._index)

    @property
    def event_id(self):
        """A number of its own; 0 before it is recorded."""
        return 0 if self._event is None else self._event.number

    cuda_event = event_id

    def record(self, stream=None):
        """Here, in `stream` or the current one, is the point."""
        if stream is None:
            index = _runtime.current_device()
            stream = Stream._of(index, _runtime.current_stream(index))
        if self._event is None:
            self._event, self._index = _runtime.Event(self._timed, self._blocking), stream.device_index
        elif self._index != stream.device_index:
            raise RuntimeError(
                f"Event device {self._index} does not match recording stream's device {stream.device_index}."
            )
        self._event.record(stream.device_index, stream.stream_id)

    def wait(self, stream=None):
        """What `stream`, or the current one, is given from here on waits for this point."""
        if self._event is None:
            return
        if stream is None:
            index = _runtime.current_device()
            stream = Stream._of(index, _runtime.current_stream(index))
        self._event.wait(stream.device_index, stream.stream_id)

    def query(self):
        """Whether the point is passed."""
        return self._event is None or self._event.is_done()

    def synchronize(self):
        """Waits until the point is passed."""
        if self._event is not None:
            self._event.synchronize()

    def elapsed_time(self, end_event):
        """Milliseconds from this point to the other. Both have been made with `enable_timing` and are passed."""
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._event is None or end_event._event is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return self._event.milliseconds_to(end_event._event)

    def ipc_handle(self):
        """RuntimeError: events are of one process."""
        raise RuntimeError("torch.cuda.Event: events cannot be shared with other processes")

    def __repr__(self):
        return f"<torch.cuda.Event {'uninitialized' if self._event is None else hex(self._event.number)}>"


class StreamContext:
    """`with` it this thread's work on the stream's device goes there; None changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        stream = self.stream
        if not isinstance(stream, Stream):
            return
        self._before = _runtime.current_device(), _runtime.current_stream(stream.device_index)
        _runtime.set_device(stream.device_index)
        _runtime.set_stream(stream.device_index, stream.stream_id)

    def __exit__(self, *error):
        if isinstance(self.stream, Stream):
            device, number = self._before
            _runtime.set_stream(self.stream.device_index, number)
            _runtime.set_device(device)
        return False


__getattr__ = _absent_names(__name__)
