"""torch.nn: the functional namespace."""

from . import functional as functional
