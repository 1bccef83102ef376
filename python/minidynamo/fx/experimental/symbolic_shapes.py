"""Errors of symbolic sizes."""


class ConstraintViolationError(RuntimeError):
    """A size marked with `mark_dynamic` has become a constant of the compiled function."""
