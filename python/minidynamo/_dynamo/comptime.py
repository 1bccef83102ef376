"""Code that runs while a function is traced: `comptime.graph_break()`, `comptime.print(x)`, `comptime(function)`.

In plain Python all of it does nothing, but for the fallback of `comptime(function, fallback)`.
"""

from .. import _C
from .._absent import absent_names as _absent_names

__all__ = ["ComptimeContext", "comptime"]


class BreakRequest(Exception):
    """Raised towards the tracer by ComptimeContext.graph_break()."""


class ComptimeContext:
    """What compile-time code may ask and do: the graph so far, the local variables, the place in the program."""

    def __init__(self, frames, graph_text, local_variables):
        self._frames = frames
        self._graph_text = graph_text
        self._locals = local_variables

    def graph_break(self, msg="ComptimeContext graph break"):
        """Breaks the graph where the compile-time code was called."""
        raise BreakRequest(msg)

    def print(self, value="", *, file=None):
        """Prints a value as the tracer knows it."""
        print(value, file=file)

    def print_graph(self, *, verbose=True, file=None):
        """Prints the graph captured so far as code."""
        print(self._graph_text, file=file)

    def print_locals(self, *, file=None):
        """Prints each local variable with what the tracer knows of it."""
        for name, shown in self._locals:
            print(f"{name} = {shown}", file=file)

    def assert_static(self, value):
        """AssertionError if the value is not known while tracing, as a symbolic size is not."""
        if isinstance(value, str):
            raise AssertionError(f"a static value was expected, but {value} is a symbol; see print_locals()")

    def force_static(self, value):
        """Breaks the graph if the value is a symbol, since plain Python knows it; else it is static already."""
        if isinstance(value, str) and value.startswith("SymNodeVariable"):
            raise BreakRequest(f"force_static({value})")

    def breakpoint(self):
        """Stops in the debugger while the function is traced; `ctx` is this."""
        ctx = self  # noqa: F841  for who looks
        breakpoint()

    def print_disas(self, *, file=None, stacklevel=0):
        """Prints the instructions of the frame that is traced."""
        import dis
        import linecache

        filename, line = self._frames[-1][0], self._frames[-1][1]
        try:
            dis.dis(linecache.getline(filename, line).strip(), file=file)
        except SyntaxError:
            print(linecache.getline(filename, line).strip(), file=file)

    def sleep(self, sec):
        """Waits while the function is traced."""
        import time

        time.sleep(sec)

    def print_value_stack(self, *, file=None, stacklevel=0):
        """Prints what an instruction is in the middle of: nothing, where a call stands by itself."""

    def print_guards(self, *, file=None):
        """Says where the guards are: they are known at the end of the trace."""
        print("guards are logged when the trace has ended: TORCH_LOGS=guards", file=file)

    def print_bt(self, *, file=None):
        """Prints the stack of the traced frames, outermost first."""
        from .report import stack_text

        print(stack_text(self._frames), end="", file=file)


class _Comptime:
    """Calls that are made while a function is traced and leave nothing in its graph; plain Python passes over them.

    `comptime(fn, fallback_fn)` calls `fn(context)` with a ComptimeContext while tracing, and `fallback_fn()` where
    nothing is traced. An exception that `fn` raises leaves the compiled function.
    """

    def __call__(self, fn, fallback_fn=lambda: None):
        """fn(ComptimeContext) is called while tracing, fallback_fn() in plain Python."""
        fallback_fn()

    def graph_break(self, msg=""):
        """Breaks the graph."""

    def print(self, value="", **kwargs):
        """Prints a value as the tracer knows it."""

    def print_graph(self, **kwargs):
        """Prints the graph captured so far."""

    def print_locals(self, **kwargs):
        """Prints the local variables."""

    def print_value_stack(self, **kwargs):
        """Prints what the instruction is in the middle of."""

    def print_guards(self, **kwargs):
        """Says where the guards are."""

    def print_bt(self, **kwargs):
        """Prints the stack of the traced frames."""

    def assert_static(self, value):
        """AssertionError while tracing if the value is a symbol."""

    def force_static(self, value):
        """Breaks the graph while tracing if the value is a symbol."""

    def breakpoint(self):
        """Stops in the debugger while the function is traced."""

    def print_disas(self, **kwargs):
        """Prints the instructions of the place that is traced."""

    def sleep(self, sec):
        """Waits while the function is traced."""


_C._mark_callable(_Comptime, "comptime")
comptime = _Comptime()

__getattr__ = _absent_names(__name__)
