"""Texts of graph breaks, errors and skip lines. Native code calls these functions; the layouts are written only here.

`frames` is always a list of (file, line, function, columns), outermost traced frame first; columns are (end line, first
column, last column) of what the frame was executing, -1: not known, and may be left out. A break's parts come as (code,
type, context, explanation, hints); code -1 is a break that has a title only.
"""

import logging
import sys
import threading
import time
import traceback
import warnings

from .. import _events, _logging
from . import callback as callback
from . import config, event_logs, message, recording
from .artifact_report import log_artifact as log_artifact
from .artifact_report import log_bytecode as log_bytecode
from .artifact_report import log_graph_table as log_graph_table
from .event_counts import count as count
from .event_logs import fold as fold
from .event_logs import log_skipping as log_skipping
from .exc import (
    BackendCompilerFailed,
    InternalTorchDynamoError,
    RecompileLimitExceeded,
    TorchRuntimeError,
    Unsupported,
)
from .foreign_exceptions import interrupts, passes_through
from .marked_report import errors_on_break as errors_on_break
from .marked_report import stance_error as stance_error
from .marked_report import uncaptured as uncaptured
from .marked_report import wrong_result as wrong_result
from .message import (
    VERBOSE_ADVICE,
    break_message,
    code_name,
    finish,
    first_time,
    stack_text,
    summaries,
)
from .message import link as link
from .message import silence as silence
from .program_frames import PACKAGE, RESUME, caller, callers
from .recompile_report import limit_error as limit_error
from .recompile_report import on_compiled as on_compiled
from .recompile_report import on_limit as on_limit
from .recompile_report import on_recompile as on_recompile
from .recompile_report import on_short_lives as on_short_lives
from .recompile_report import wants_recompiles as wants_recompiles
from .target_report import on_device_graph as on_device_graph
from .target_report import on_target_program as on_target_program
from .target_report import wanted_target as wanted_target

_log = logging.getLogger("minidynamo._dynamo")

_ITEM_ADVICE = """\
Graph break from `Tensor.item()`, consider setting:
    torch._dynamo.config.capture_scalar_outputs = True
or:
    env TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS=1
to include these operations in the captured graph.

Graph break: from user code at:
{stack}"""
_CHAINED = "\nThe above exception was the direct cause of the following exception:\n\n"


def unsupported(code, type_, context, explanation, hints, frames, cause=None):
    """The exception of a graph break. Where no frame was traced, what called is its place."""
    frames = frames or caller()
    kind = RecompileLimitExceeded if code == 39 else Unsupported
    error = kind(
        break_message(code, type_, context, explanation, hints),
        gb_code=code_name(code),
        gb_type=type_,
        context=context,
        explanation=explanation,
        hints=hints,
    )
    error.__cause__ = cause
    error.__suppress_context__ = True
    return finish(error, frames)


def runtime_error(node, cause, frames):
    """An operation failed on fake tensors; `node` is the call as text. A wrong dimension or index is said as it is."""
    if isinstance(cause, IndexError):
        error = type(cause)(*cause.args)
        error.msg = str(cause)
        return finish(error, frames)
    error = TorchRuntimeError(f"Dynamo failed to run FX node with fake tensors: {node}: got {cause!r}")
    error.__cause__ = cause
    return finish(error, frames)


def constraint_violation(rows, frames):
    """Sizes marked as dynamic that became constants: (source, value) each. None: a setting lets that pass."""
    from ..fx.experimental.symbolic_shapes import ConstraintViolationError

    if config.allow_ignore_mark_dynamic:
        return None
    bullets = "".join(
        f"  - {source} is marked as dynamic, but the function works for {value} only. "
        f"Remove the mark, or use maybe_mark_dynamic.\n"
        for source, value in rows
    )
    sources = ", ".join(source for source, _ in rows)
    return ConstraintViolationError(
        f'Constraints violated ({sources})! For more information, run with TORCH_LOGS="+dynamic".\n{bullets}\n'
        f"User stack:\n{stack_text(frames)}"
    )


def size_out_of_range(size, least, most):
    """A size marked as dynamic with bounds that do not hold."""
    from ..fx.experimental.symbolic_shapes import ConstraintViolationError

    return ConstraintViolationError(f"{size} not in range [{least}, {'int_oo' if most is None else most}]")


def internal_error(cause, frames):
    """A defect of ours; `cause` is the exception or a text."""
    text = f"{type(cause).__name__}: {cause}" if isinstance(cause, BaseException) else str(cause)
    error = InternalTorchDynamoError(text)
    if isinstance(cause, BaseException):
        error.__cause__ = cause
    return finish(error, frames)


def traceback_text(error):
    """The traceback of an exception, without the exception itself."""
    return "".join(traceback.format_tb(error.__traceback__))


def backend_failed(backend, cause):
    """A user's backend raised `cause`."""
    error = BackendCompilerFailed(backend, cause)
    error.__cause__ = cause
    error.args = (f"{error.msg}\n\n{'' if config.verbose else VERBOSE_ADVICE}\n",)
    return error


def suppressed(error):
    """With `suppress_errors` a failure of a backend is said, and the frame runs as plain Python: whether it is one."""
    if isinstance(error, BackendCompilerFailed):
        _log.warning("WON'T CONVERT: %s", error.msg)
        return True
    return False


def unlogged_break(code, type_, context, explanation, hints, frames):
    """The message of a break that will be met, and told, once more."""
    return break_message(code, type_, context, explanation, hints)


def forget():
    """reset(): breaks are logged in full again, limits and warnings are reported again."""
    event_logs.forget()
    message.forget()


# ---- functions that run as plain Python --------------------------------------------------------------------------


def _emit_skip(cause, reason, name, file, first_line, error="", frames=()):
    _events.emit(
        "skip", function=name, file=file, line=first_line, cause=cause, reason=reason, error=error,
        stack=_events.stack_rows(frames),
    )  # fmt: skip


def _chained_text(error, cause):
    name = f"{type(error).__module__}.{type(error).__qualname__}".replace("minidynamo.", "torch.", 1)
    first = f"torch._dynamo.exc.Unsupported: {cause.msg}\n{_CHAINED}" if cause is not None else ""
    return f"{first}{name}: {error}"


def _skip_because(why, name, file, first_line, error, cause):
    reason = getattr(error, "gb_type", None) or str(error).partition("\n")[0]
    _emit_skip(why, reason, name, file, first_line, _chained_text(error, cause), error._frames)


def skip_at_break(name, file, first_line, error, cause=None):
    """At a place that cannot be resumed there was a break, `error`, due to another one, `cause`."""
    _skip_because("break", name, file, first_line, error, cause)


def skip_after(name, file, first_line, error):
    """An operation fails, or the function is of a kind that is not compiled."""
    _skip_because("error", name, file, first_line, error, None)


def skip_in_loop(frames, name, file, first_line):
    """A break in a loop."""
    _emit_skip("loop", "there is a graph break in a loop", name, file, first_line, frames=frames)


def skip_asked(reason, name, file, first_line):
    """`skip_frame()` was traced."""
    _emit_skip("asked", reason, name, file, first_line)


def log_no_torch(name, file, first_line):
    _log.debug("skipping because no torch.* %s             %s %s", name, file, first_line)


def log_skipfile(name, reason, file):
    _log.debug("skipping: %s (reason: %s, file: %s)", name, reason, file)


def log_start(name, file, first_line):
    """A frame is looked at for the first time."""
    every, frame = 0, sys._getframe(1)
    while frame is not None:
        every, frame = every + 1, frame.f_back
    outer = callers(verbose=config.verbose)
    _log.debug(
        "torchdynamo start compiling %s %s:%s, stack (elided %s frames):\n%s",
        name, file, first_line, every - len(outer), stack_text(outer),
    )  # fmt: skip


def log_compiling_graph(reason, frames, graph_break):
    """The trace has ended and its graph goes to the backend."""
    from .output import GraphCompileReason  # here: importing dataclasses takes milliseconds

    _log.debug("COMPILING GRAPH due to %s", GraphCompileReason(reason, list(summaries(frames)), graph_break))


def marked_source(*place):
    """The source of one instruction, for TRACE lines."""
    from .source_marks import marked_source as mark  # here: it imports ast

    return mark(*place)


_compilations = threading.local()  # .begun: (compile id, when) of those that this thread is in


def set_compile_id(text):
    """An attempt at a compilation begins ("0/1", later ones "0/1_2"), or the compilation is over ("")."""
    _logging.set_compile_id(text)
    begun = _compilations.__dict__.setdefault("begun", [])
    if text and "_" not in text:
        begun.append((text, time.perf_counter()))
        _events.emit("compile_begin")
    elif not text and begun:
        compile_id, start = begun.pop()
        _events.emit("compile_end", compile_id=compile_id, seconds=time.perf_counter() - start)


def log_info(text):
    _log.info("%s", text)


def log_debug(text):
    _log.debug("%s", text)


def log_dynamic(text):
    """What the component `dynamic` tells of sizes that are symbols."""
    logging.getLogger(_logging.names.COMPONENTS["dynamic"][0]).info("%s", text)


def came_from_outside(error):
    """It has nothing to do with what was compiled: a signal handler or another thread had it raised here, or the
    program's filters made an exception of a warning of ours."""
    return interrupts(error) or passes_through({warn_untraceable.__code__}, error.__traceback__)


# ---- once-only warnings ------------------------------------------------------------------------------------------


def warn_item(frames):
    """Advice at the first break from `Tensor.item()`, visible by default."""
    if first_time("item"):
        _log.warning("%s", _ITEM_ADVICE.format(stack=stack_text(frames)))


def warn_untraceable(explanation, hints):
    """A Python warning about a C function without a tracing rule, once for each text."""
    text = "\n".join([explanation, *hints])
    if first_time(text):
        warnings.warn(text, UserWarning, stacklevel=_users_level())


def _users_level():
    """The stacklevel at which a warning names the user's line instead of one of ours."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


# ---- events of a compilation -------------------------------------------------------------------------------------


def _emit_break(outcome, code, type_, context, explanation, hints, frames, counted="unimplemented", in_loop=False):
    _events.emit(
        "break", code=code_name(code), type=type_, context=context, explanation=explanation, hints=list(hints),
        stack=_events.stack_rows(frames or caller()), outcome=outcome, counted=counted, in_loop=in_loop,
    )  # fmt: skip


def resumed(code, type_, context, explanation, hints, frames):
    """A graph ended; a new one will go on after the break. Its message."""
    _emit_break("resumed", code, type_, context, explanation, hints, frames, counted="graph_break")
    return break_message(code, type_, context, explanation, hints)


def resumed_jump(code, type_, context, explanation, hints, frames):
    """The same of a jump on data that is split, which is none of the breaks that are counted as such."""
    _emit_break("resumed", code, type_, context, explanation, hints, frames, counted="unimplemented")
    return break_message(code, type_, context, explanation, hints)


def skipped(*parts):
    """Because of a break the function runs as plain Python: the exception that says so."""
    _emit_break("skipped", *parts)
    return unsupported(*parts)


def skipped_in_loop(*parts):
    """The same, because a loop that was begun cannot be resumed."""
    _emit_break("skipped", *parts, in_loop=True)
    return unsupported(*parts)


def left_plain(*parts):
    """The same where it is none of the breaks that are counted: an exception leaves the function, there is a limit."""
    _emit_break("plain", *parts)
    return unsupported(*parts)


def raised(*parts):
    """The exception of a break that is not allowed."""
    _emit_break("raised", *parts)
    return unsupported(*parts)


def on_entry(code, name):
    """An entry was compiled for this code object; `name`: as texts call it."""
    recording.on_entry(code)
    if _events.is_wanted() and (resumed := RESUME.match(name)):
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        _events.emit(
            "resume", function=name, file=code.co_filename, line=code.co_firstlineno,
            at=int(resumed.group(2)), arguments=list(given),
        )  # fmt: skip


def on_compile(backend, calls):
    """A graph goes to a backend."""
    _events.emit("graph", backend=backend, calls=calls)


def warn_internal(name, file, first_line, error):
    """A defect of ours: the program goes on as plain Python."""
    _events.emit("internal_error", function=name, file=file, line=first_line, error=str(error))
