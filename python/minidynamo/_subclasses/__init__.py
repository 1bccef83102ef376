"""Tensors without data: here the errors a backend raises to say that it cannot take a graph."""

from .._absent import absent_names as _absent_names
from . import fake_tensor as fake_tensor

__getattr__ = _absent_names(__name__)
