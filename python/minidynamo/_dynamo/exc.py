"""Exceptions of the compiler.

A graph break (`Unsupported`) is an error only under `fullgraph=True`; `InternalTorchDynamoError` is a defect of ours;
the user's own exceptions are never wrapped. Messages are laid out in `report.py`.
"""

import enum

from .._absent import absent_names as _absent_names
from .._lock import process_lock
from .utils import counters


class TorchDynamoException(RuntimeError):
    """Base of everything the compiler raises on its own account."""

    def __init__(self, *args, real_stack=None):
        super().__init__(*args)
        self.msg = str(args[0]) if args else ""
        self.real_stack = real_stack  # traceback.StackSummary of the traced frames, outermost first


class InternalTorchDynamoError(TorchDynamoException):
    """A defect of minidynamo, seen while tracing."""


class TorchRuntimeError(TorchDynamoException):
    """An operation failed while its result's shape and dtype were computed."""


class ForbiddenCallable(TorchDynamoException, AssertionError):
    """Compiled code calls what forbid_in_graph() was applied to."""


class InvalidBackend(TorchDynamoException):
    """`compile(backend=...)` names a backend that is not registered; list_backends() tells those that are."""

    def __init__(self, name):
        super().__init__(
            f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.",
        )


class BackendCompilerFailed(TorchDynamoException):
    """A user's backend raised, or returned something that cannot be called."""

    def __init__(self, backend, inner_exception):
        self.backend_name = getattr(backend, "__name__", None) or str(backend)
        self.inner_exception = inner_exception
        text = f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}"
        super().__init__(text)


class Unsupported(TorchDynamoException):
    """A graph break where none is allowed.

    `gb_code` ("GB0124", None for breaks that have a title only), `gb_type`, `context`, `explanation` and `hints` are
    the parts of the message; `msg` is the message without the user's stack.
    """

    def __init__(
        self,
        msg,
        *,
        gb_code=None,
        gb_type=None,
        context="",
        explanation="",
        hints=(),
        case_name=None,
        real_stack=None,
    ):
        super().__init__(msg, real_stack=real_stack)
        self.gb_code = gb_code
        self.gb_type = gb_type
        self.context = context
        self.explanation = explanation
        self.hints = list(hints)
        self.case_name = case_name
        self.category = None
        self.add_to_stats()

    def add_to_stats(self, category="unimplemented"):
        self.category = category
        with _stats_lock:
            counters[category][self.msg] += 1

    def remove_from_stats(self):
        if self.category is None:
            return
        with _stats_lock:
            counted = counters[self.category]
            counted[self.msg] -= 1
            if counted[self.msg] <= 0:
                del counted[self.msg]


class UncapturedHigherOrderOpError(TorchDynamoException):
    """A higher-order operator that must be one node of the graph could not be."""


class UserErrorType(enum.Enum):
    """Kinds of `UserError`, by their printed names."""

    DYNAMIC_CONTROL_FLOW = "dynamic_control_flow"
    ANTI_PATTERN = "anti_pattern"
    STANDARD_LIBRARY = "standard_library"
    CONSTRAINT_VIOLATION = "constraint_violation"
    DYNAMIC_DIM = "dynamic_dim"
    INVALID_INPUT = "invalid_input"
    INVALID_OUTPUT = "invalid_output"
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = "unsupported_aliased_mutated_dynamic_inputs"


class UserError(Unsupported):
    """The program uses the API in a way that cannot work."""

    def __init__(self, error_type, msg, case_name=None, **parts):
        self.error_type = error_type
        super().__init__(msg, case_name=case_name, **parts)


class RecompileError(TorchDynamoException):
    """A recompilation happened while `config.error_on_recompile` is set."""


class RecompileLimitExceeded(Unsupported):
    """More entries than `config.recompile_limit` would be needed."""


class FailOnRecompileLimitHit(TorchDynamoException):
    """The recompile limit was reached where falling back to plain Python is not allowed."""


_stats_lock = process_lock()

__getattr__ = _absent_names(__name__)
