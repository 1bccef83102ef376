"""Texts of calls that leave the graph: custom operators, cond, stances. Called as functions of report.py."""

import contextvars

from .exc import TorchRuntimeError, UncapturedHigherOrderOpError
from .message import finish


def wrong_result(name, expected, got, frames):
    """A function called by the graph returned something else than its shape rule said."""
    return finish(
        TorchRuntimeError(
            f"{name} returned {got}, but the graph was built for {expected}: that is what its fake implementation, or "
            f"the function itself called on tensors of zeros while tracing, gave. Make the fake implementation agree "
            f"with the function, or call {name} outside the compiled function."
        ),
        frames,
    )


def uncaptured(operator, cause, text, frames):
    """A branch of cond() that breaks (`cause`), or arguments that do not fit (`text`)."""
    inner = text if cause is None else cause.msg
    error = UncapturedHigherOrderOpError(
        f"{operator}() has to become part of the graph as a whole, which is not possible: {inner}"
    )
    error.__cause__ = cause
    error.__suppress_context__ = True
    return finish(error, frames)


def stance_error(fails, name, file, first_line):
    """No compiled code fits, and the stance forbids to make some."""
    place = f"filename: {file!r}, function name: {name!r}, line number: {first_line}"
    if fails:
        return RuntimeError(f"Detected recompile when torch.compile stance is 'fail_on_recompile'. {place}")
    return RuntimeError(
        f"Recompilation triggered with skip_guard_eval_unsafe stance. Call the function with all kinds of inputs "
        f"before the stance is set. {place}"
    )


# What error_on_graph_break() says where compiled code is called, for this context.
break_policy = contextvars.ContextVar("minidynamo_break_policy", default=False)


def errors_on_break():
    """Whether the program that calls compiled code is within error_on_graph_break(True)."""
    return break_policy.get()
