"""What each node of a graph gives, in meta["val"], without computing it."""

from ... import _C
from ..._absent import absent_names as _absent_names
from ..._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from ..interpreter import Interpreter

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """propagate(*args) runs the graph on fake tensors, made of the arguments."""

    def __init__(self, module, mode=None):
        super().__init__(module)
        self._mode = FakeTensorMode() if mode is None else mode

    def run_node(self, n):
        result = super().run_node(n)
        n.meta["val"] = result
        return result

    def _fake(self, x):
        return self._mode.from_tensor(x) if isinstance(x, _C.Tensor) and not isinstance(x, FakeTensor) else x

    def fetch_attr(self, target):
        return self._fake(super().fetch_attr(target))

    def propagate(self, *args):
        return self.propagate_dont_convert_inputs(*map(self._fake, args))

    def propagate_dont_convert_inputs(self, *args):
        with self._mode:
            return self.run(*args)


__getattr__ = _absent_names(__name__)
