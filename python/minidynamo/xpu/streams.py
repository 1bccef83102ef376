"""torch.xpu.streams: classes that programs name; no stream can be made without a device."""

from .._absent import absent_names as _absent_names
from .._no_device import no_such_object as _no_such_object


class Stream(_no_such_object):
    """Work of an XPU device in order; RuntimeError, as there is none."""


class Event(_no_such_object):
    """A point in an XPU stream; RuntimeError, as there is no device."""


__getattr__ = _absent_names(__name__)
