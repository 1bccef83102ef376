"""Compiled autograd: backward() itself captured as a graph, with its hooks and what it adds to leaves, and compiled.

In effect within `_enable(compiler_fn)`, and with `config.compiled_autograd` for backward() while a compiled function is
under way. What backward() would do is recorded each time (ir/gradients/backward_recorder.h); a record that was there
before runs what was compiled then. Code that cannot wait (a backward of the program's own, a compiled graph, hooks of
nodes) ends a graph, runs, and the next graph begins after it. `create_graph` and anomaly mode run op by op.
"""

import contextlib
import itertools
import logging
import operator

from .. import _C, _logging
from .._absent import absent_names as _absent_names
from .._ops import op_named
from . import eval_frame, stance
from .callables import Options, compile_callable
from .external_utils import call_accumulate_grad, call_hook
from .utils import counters

_INPUTS = ("inputs", "sizes", "scalars", "hooks", "packed_data")
_MOST_KEPT = 256
_compiled = {}  # text of a record -> what runs it, the oldest first
_numbers = itertools.count()
_log = _logging.get_artifact_logger("compiled_autograd")


def _compiled_before(key):
    return _compiled.get(key)


class _Capture:
    """A graph in the making: native code tells the steps of a record."""

    def __init__(self, input_count, hook_count):
        from ..fx.graph import Graph

        counters["compiled_autograd"]["captures"] += 1
        self._graph = Graph()
        given = {name: self._graph.placeholder(name) for name in _INPUTS}
        self.inputs = [self._item(given["inputs"], i) for i in range(input_count)]
        self._hooks = [self._item(given["hooks"], i) for i in range(hook_count)]

    def _item(self, node, index):
        return self._graph.call_function(operator.getitem, (node, index))

    def call(self, name, args, kwargs, count):
        made = self._graph.call_function(op_named(name), tuple(args), kwargs)
        return [made] if count == 1 else [self._item(made, i) for i in range(count)]

    def hook(self, number, gradient):
        named = {"hook_type": "tensor_pre_hook"}
        return self._graph.call_function(call_hook, (self._hooks[number], gradient), named)

    def accumulate(self, variable, gradient, has_post_hooks, given):
        args = (variable, gradient, has_post_hooks, given)
        self._graph.call_function(call_accumulate_grad, args)

    def accumulated(self, number, leaf):
        self._graph.call_function(call_hook, (self._hooks[number], leaf), {"hook_type": "post_acc_grad_hook"})

    def compiled(self, key, outputs, compiler_fn):
        """What `compiler_fn` makes of the graph; kept for the next record with this text."""
        from ..fx.graph_module import GraphModule
        from ..nn.module import Module

        self._graph.output(outputs)
        module = GraphModule(Module(), self._graph, f"CompiledAutograd{next(_numbers)}")
        if _log.isEnabledFor(logging.DEBUG):
            text = module.print_readable(print_output=False)
            _log.debug("TRACED GRAPH\n ===== Compiled autograd graph =====\n%s\n", text)
        made = compiler_fn(module)
        if made is module:  # whose __call__ adds to the texts of exceptions

            def made(*given):
                return module.forward(*given)

        while len(_compiled) >= _MOST_KEPT:
            _compiled.pop(next(iter(_compiled)), None)
        _compiled[key] = made
        return made


def _compiler_with(*options):
    """Compiles graphs with the options of a compiled function."""
    return lambda module: compile_callable(module.forward, Options(*options))


@contextlib.contextmanager
def _enable(compiler_fn, dynamic=True, ignore_active_disable_ctx=True):
    """Within, this thread's backward() is captured, and `compiler_fn` gets a GraphModule for each new graph.

    What it returns is called as `(inputs, sizes, scalars, hooks, packed_data)` and returns a list of tensors. Every
    size is a constant: `dynamic` has no effect. With `ignore_active_disable_ctx=False` a `_disable()` around it holds.
    """
    if not callable(compiler_fn):
        raise TypeError(f"compiler_fn has to be callable, not {type(compiler_fn).__name__}")
    before = _C._set_autograd_compiler(None)
    kept = before is False and not ignore_active_disable_ctx or stance._current.stance == "force_eager"
    _C._set_autograd_compiler(before if kept else compiler_fn)
    try:
        yield
    finally:
        _C._set_autograd_compiler(before)


@contextlib.contextmanager
def _disable():
    """Within, this thread's backward() runs op by op."""
    before = _C._set_autograd_compiler(False)
    try:
        yield
    finally:
        _C._set_autograd_compiler(before)


@contextlib.contextmanager
def maybe_enable_compiled_autograd(should_enable, fullgraph=True, dynamic=True):
    """`_dynamo.utils` has it: within, if asked for, backward() is captured, compiled and counted under "compiles".

    Graphs are compiled for their sizes: `dynamic` has no effect.
    """
    if not should_enable:
        yield
        return

    def compiler_fn(module):
        def backend(graph, example_inputs):
            counters["compiled_autograd"]["compiles"] += 1
            return eval_frame.lookup_backend("llvm")(graph, example_inputs)

        return eval_frame.compile(module, backend=backend, fullgraph=fullgraph)

    with _enable(compiler_fn):
        yield


def reset():
    """Forgets what was compiled."""
    _compiled.clear()


__getattr__ = _absent_names(__name__)
