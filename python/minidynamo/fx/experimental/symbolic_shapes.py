"""Errors of symbolic sizes."""

from ..._dynamo.exc import TorchDynamoException


class ConstraintViolationError(TorchDynamoException):
    """A size marked with `mark_dynamic` has become a constant of the compiled function."""
