"""What the logs say of events: one function for each kind, which stands at the stream."""

import logging

from .. import _events, _logging
from . import config, message, program_frames

_log = logging.getLogger("minidynamo._dynamo")
_seen_breaks = set()  # (file, line) of breaks whose stack was logged
_limits_reported = set()
_ATTEMPT_LINE = "========== most recent `torch.compile` tracing attempt started here =========="
_LONGEST = 60  # of a value in a text


def forget():
    """reset(): breaks are logged in full again, limits are reported again."""
    with message.lock:
        _seen_breaks.clear()
        _limits_reported.clear()


# ---- breaks ------------------------------------------------------------------------------------------------------


def fold(frames):
    """Shows a resume function as the function it resumes, once, at its last line."""
    folded = []
    for file, line, name, *columns in frames:
        resumed = program_frames.resumed_function(name)
        if resumed:
            name = resumed
            if folded and folded[-1][0] == file and folded[-1][2] == name:
                folded.pop()
        folded.append((file, line, name, *columns))
    return folded


def _break_stack(frames):
    if not config.verbose:
        return message.stack_text(fold(program_frames.callers() + frames))
    return (
        f"{message.stack_text(program_frames.callers(verbose=True))}\n{_ATTEMPT_LINE}\n\n{message.stack_text(frames)}\n"
        "NOTE: the frames above the line called the compiled function; those below were traced. A function that was "
        "resumed after an earlier break appears under the name of its resume function.\n"
    )


@_events.stand_at("break")
def _on_break(event):
    """A break that a graph goes on after, or that stands in a loop, at DEBUG; the stack once for each place."""
    log = _logging.get_artifact_logger("graph_breaks")
    if not (event.outcome == "resumed" or event.in_loop) or not log.isEnabledFor(logging.DEBUG):
        return
    text = message.break_message(
        message.code_number(event.code), event.type, event.context, event.explanation, event.hints
    )
    frames = _events.frames_of(event, with_columns=True)
    file, line = message.place(frames)
    with message.lock:
        first = (file, line) not in _seen_breaks
        _seen_breaks.add((file, line))
    if first or config.verbose:
        after = "" if event.code is None else "\n"
        log.debug(
            "Graph break in user code at %s:%s\nGraph Break Reason: %s\n%sUser code traceback:\n%s",
            file, line, text, after, _break_stack(frames),
        )  # fmt: skip
    else:
        log.debug(
            "Graph break (user stack suppressed due to duplicate graph break) in user code at %s:%s\n"
            "Graph Break Reason: %s\n",
            file, line, text,
        )  # fmt: skip


# ---- functions that run as plain Python --------------------------------------------------------------------------


@_events.stand_at("skip")
def _on_skip(event):
    if event.cause == "asked":
        log_skipping(event.reason, event.function, event.file, event.line)
    elif event.cause == "loop":
        place = list(message.summaries(_events.frames_of(event)))[-1]
        reason = f"Skipping frame because there is a graph break in a for/while loop\n{place}"
        _log.info("%s", reason)
        log_skipping(reason, event.function, event.file, event.line)
    else:
        _on_failure(event)


def _on_failure(event):
    if event.cause == "break":
        log = _logging.get_artifact_logger("graph_breaks")
        if log.isEnabledFor(logging.DEBUG):
            stack = message.stack_text(_events.frames_of(event, with_columns=True))
            log.debug("Graph break: skip: from user code at:\n%s%s", stack, event.error)
    level = logging.WARNING if config.suppress_errors else logging.INFO
    _log.log(level, "WON'T CONVERT %s %s line %s \ndue to: \n%s", event.function, event.file, event.line, event.error)


def log_skipping(reason, name, file, first_line):
    """A frame that is left alone after a look at it."""
    _log.debug("Skipping frame %s %s                     %s %s", reason, name, file, first_line)


@_events.stand_at("internal_error")
def _on_internal_error(event):
    """Said once for each place; the program goes on as plain Python."""
    if message.first_time(("internal", event.file, event.line, event.error)):
        _log.warning(
            "minidynamo failed on %s (%s line %s) and runs it as plain Python. This is a defect of minidynamo, not of "
            "your program:\n%s",
            event.function, event.file, event.line, event.error,
        )  # fmt: skip


# ---- recompilations ----------------------------------------------------------------------------------------------


def recompile_logger():
    """The logger of recompilations: the verbose one, if it is on."""
    verbose = _logging.get_artifact_logger("recompiles_verbose")
    return verbose if verbose.isEnabledFor(logging.DEBUG) else _logging.get_artifact_logger("recompiles")


def recompile_text(name, file, first_line, failures):
    """Why no code fits: [["0/0: <guard>", ...] of each entry], of which the first ones are shown."""
    lines = "".join([f"\n    - {texts[0]}" for texts in failures if texts])
    return _recompiling(name, file, first_line, lines)


def _recompile_text_verbose(name, file, first_line, failures):
    """A group for each entry, with every guard that fails."""
    groups = "".join(
        f"\n    guard {k} failures:" + "".join(f"\n    - {failure}" for failure in texts) + "\n"
        for k, texts in enumerate(failures)
    )
    return _recompiling(name, file, first_line, groups)


def _recompiling(name, file, first_line, failures):
    return (
        f"Recompiling function {name} in {file}:{first_line}\n"
        f"    triggered by the following guard failure(s):{failures}"
    )


@_events.stand_at("no_match")
def _on_no_match(event):
    log = recompile_logger()
    if not log.isEnabledFor(logging.DEBUG):
        return
    verbose = log is _logging.get_artifact_logger("recompiles_verbose")
    text = _recompile_text_verbose if verbose else recompile_text
    log.debug("%s", text(event.function, event.file, event.line, event.failures))


@_events.stand_at("recompile")
def _on_recompile(event):
    if not recompile_logger().isEnabledFor(logging.DEBUG):
        return
    stack = message.stack_text(_events.frames_of(event)).rstrip("\n").replace("\n", "\n    ")
    recompile_logger().debug(
        "Recompiled function %s in %s:%s in %.2f ms\n    what changed: %s\n    way out: %s\n    called from:\n    %s",
        event.function, event.file, event.line, event.seconds * 1000, _change(event), event.hint, stack,
    )  # fmt: skip


def short(value):
    """The text of a value, cut where it is long."""
    return value if len(value) <= _LONGEST else value[: _LONGEST - 3] + "..."


def _change(event):
    if not event.old and not event.new:
        return event.guard
    return f"{event.place} was {short(event.old)}, now {short(event.new)}"


@_events.stand_at("limit")
def _on_limit(event):
    """A warning, once for each function (by the first part of its compile id), always where that is not known."""
    frame = event.compile_id.partition("/")[0]
    if not first_limit(frame or None):
        return
    _log.warning(
        "torch._dynamo hit config.%s (%s)\n"
        "   function: '%s' (%s:%s)\n"
        "   last reason: %s\n"
        'To log all recompilation reasons, use TORCH_LOGS="recompiles".\n'
        "To diagnose recompilation issues, see %s%s",
        event.limit, event.value, event.function, event.file, event.line, event.reason, message.link(39),
        "".join([f"\n{line}" for line in event.advice]),
    )  # fmt: skip


def first_limit(key):
    """Whether anything is to be said of the code with this number, and nothing was; always, if it is None."""
    with message.lock:
        if message.is_silent() or (key is not None and key in _limits_reported):
            return False
        _limits_reported.add(key)
        return True


# ---- texts that were asked for -----------------------------------------------------------------------------------


@_events.stand_at("artifact")
def _on_artifact(event):
    _logging.get_artifact_logger(event.name).debug("%s", event.text)


# ---- graphs of launches ------------------------------------------------------------------------------------------


@_events.stand_at("device_graph")
def _on_device_graph(event):
    if not event.why:
        log = _logging.get_artifact_logger("cudagraphs")
        log.debug("captured %d launches of %s as one CUDA graph: %s", event.launches, event.graph, event.kernels)
        return
    for name in ("cudagraphs", "perf_hints"):
        _logging.get_artifact_logger(name).debug("skipping cudagraphs due to %s (%s)", event.why, event.graph)
