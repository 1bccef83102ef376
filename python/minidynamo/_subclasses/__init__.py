"""Tensors without data, and errors of what needs some."""

from .._absent import absent_names as _absent_names
from . import fake_tensor as fake_tensor
from .fake_tensor import (
    DynamicOutputShapeException as DynamicOutputShapeException,
)
from .fake_tensor import (
    FakeTensor as FakeTensor,
)
from .fake_tensor import (
    FakeTensorMode as FakeTensorMode,
)
from .fake_tensor import (
    UnsupportedFakeTensorException as UnsupportedFakeTensorException,
)

__getattr__ = _absent_names(__name__)
