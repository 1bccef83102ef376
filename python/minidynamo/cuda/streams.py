"""torch.cuda.streams: classes that programs name; no stream can be made without a device."""

from .._absent import absent_names as _absent_names
from .._no_device import no_such_object as _no_such_object


class Stream(_no_such_object):
    """Work of a CUDA device in order; RuntimeError, as there is none."""


class ExternalStream(Stream):
    """A stream made elsewhere; RuntimeError, as there is no device."""


class Event(_no_such_object):
    """A point in a CUDA stream; RuntimeError, as there is no device."""


__getattr__ = _absent_names(__name__)
