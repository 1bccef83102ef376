"""Code that runs while a function is compiled, not when it is called: `comptime(f)` calls f with a view of the trace.

Outside of a compilation all of it does nothing, but for the fallback of `comptime(f, fallback)`.
"""

import sys

__all__ = ["ComptimeContext", "comptime"]


class ComptimeBreak(Exception):
    """Raised by ComptimeContext.graph_break(): the trace ends here."""


class ComptimeContext:
    """What a function run at compile time sees: the graph so far, the local variables, the stack."""

    def __init__(self, graph_text, locals_, frames):
        self._graph = graph_text
        self._locals = locals_
        self._frames = frames

    def graph_break(self, msg="ComptimeContext graph break"):
        """Ends the graph at this place."""
        raise ComptimeBreak(msg)

    def print_graph(self, *, verbose=True, file=None):
        """Prints the graph as it is by now."""
        print(self._graph, file=file or sys.stdout)

    def print_locals(self, *, file=None):
        """Prints each local variable with what the tracer knows of it."""
        for name, shown in self._locals:
            print(f"{name} = {shown}", file=file or sys.stdout)

    def print_bt(self, *, file=None):
        """Prints the stack of the traced frames, outermost first."""
        from .report import stack_text

        print(stack_text(self._frames), end="", file=file or sys.stdout)


class _Comptime:
    def __call__(self, fn, fallback_fn=lambda: None):
        """Runs fn(ComptimeContext) while compiling, fallback_fn() otherwise."""
        fallback_fn()

    def graph_break(self):
        """As ComptimeContext.graph_break()."""

    def print_graph(self):
        """As ComptimeContext.print_graph()."""

    def print_locals(self):
        """As ComptimeContext.print_locals()."""

    def print_bt(self):
        """As ComptimeContext.print_bt()."""


comptime = _Comptime()


def _run(method, function, graph_text, locals_, frames):
    """Called by the tracer: a method of ComptimeContext, or the user's function; the break's message, or None."""
    context = ComptimeContext(graph_text, locals_, frames)
    try:
        getattr(context, method)() if method else function(context)
    except ComptimeBreak as asked:
        return str(asked)
    return None
