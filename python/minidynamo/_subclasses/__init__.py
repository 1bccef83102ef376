"""Tensors without data: here the errors a backend raises to say that it cannot take a graph."""

from . import fake_tensor as fake_tensor
