"""A pass: a class that changes a graph module, with checks before and after."""

from collections import namedtuple

from ...._absent import absent_names as _absent_names

__all__ = ["PassBase", "PassResult"]

PassResult = namedtuple("PassResult", ["graph_module", "modified"])


class PassBase:
    """Called with a graph module: requires(), call(), ensures(). Subclasses have call(), which gives a PassResult."""

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    def call(self, graph_module):
        """The pass itself."""
        raise NotImplementedError(f"{type(self).__name__} has no call(graph_module)")

    def requires(self, graph_module):
        """Raises what a graph is refused with."""

    def ensures(self, graph_module):
        """Raises what a result is refused with."""


__getattr__ = _absent_names(__name__)
