"""Code that runs while a function is traced: `comptime.graph_break()`, `comptime.print(x)`, `comptime(function)`.

In plain Python all of it does nothing.
"""

from .. import _C


class BreakRequest(Exception):
    """Raised towards the tracer by ComptimeContext.graph_break()."""


class ComptimeContext:
    """What compile-time code may ask and do. `frames` are (file, line, function), outermost first."""

    def __init__(self, frames, graph_text):
        self._frames = frames
        self._graph_text = graph_text

    def graph_break(self, msg="ComptimeContext graph break"):
        """Breaks the graph where the compile-time code was called."""
        raise BreakRequest(msg)

    def print(self, value="", *, file=None):
        """Prints a value as the tracer knows it."""
        print(value, file=file)

    def print_graph(self, *, verbose=True, file=None):
        """Prints the graph captured so far as code."""
        print(self._graph_text, file=file)

    def print_bt(self, *, file=None):
        """Prints the place of the traced program."""
        for name, line, function in self._frames:
            print(f'  File "{name}", line {line}, in {function}', file=file)


class _Comptime:
    def __call__(self, fn):
        """fn(ComptimeContext) is called while tracing."""

    def graph_break(self, msg=""):
        """Breaks the graph."""

    def print(self, value="", **kwargs):
        """Prints a value as the tracer knows it."""

    def print_graph(self, **kwargs):
        """Prints the graph captured so far."""

    def print_bt(self, **kwargs):
        """Prints the place of the traced program."""


_C._mark_hatch(_Comptime, "comptime")
comptime = _Comptime()
