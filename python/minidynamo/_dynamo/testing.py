"""Backends that run the traced graph and count or keep what they were given."""

import threading

from .._absent import absent_names as _absent_names


def count_calls(graph):
    """Number of call nodes of a graph."""
    return sum("call" in node.op for node in graph.nodes)


class CompileCounter:
    """Backend: runs the graph as it is; `frame_count` graphs with `op_count` call nodes in all."""

    def __init__(self):
        self._lock = threading.RLock()
        self.clear()

    def __call__(self, gm, example_inputs):
        with self._lock:
            self.frame_count += 1
            self.op_count += count_calls(gm.graph)
        return gm.forward

    def clear(self):
        self.frame_count = 0
        self.op_count = 0


class CompileCounterWithBackend:
    """The same around another backend, keeping the graphs."""

    def __init__(self, backend):
        self.backend = backend
        self._lock = threading.RLock()
        self.clear()

    def __call__(self, gm, example_inputs):
        from . import lookup_backend

        with self._lock:
            self.frame_count += 1
            self.op_count += count_calls(gm.graph)
            self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self):
        self.frame_count = 0
        self.op_count = 0
        self.graphs = []


class EagerAndRecordGraphs:
    """Backend: keeps every graph module in `graphs` and runs it as it is."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return gm.forward


__getattr__ = _absent_names(__name__)
