"""Errors of symbolic sizes."""

from ..._absent import absent_names as _absent_names
from ..._dynamo.exc import TorchDynamoException


class ConstraintViolationError(TorchDynamoException):
    """A size marked with `mark_dynamic` has become a constant of the compiled function."""


__getattr__ = _absent_names(__name__)
