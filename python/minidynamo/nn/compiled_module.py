"""What compile(module) gives: a module that runs another one compiled and is that one in everything else."""

from types import FunctionType

from .module import Module

_OWN = ("_orig_mod", "_compiled_call", "forward")


def own_copy(function):
    """The same function with a code object of its own, and so with compiled entries of its own.

    All modules share the code of Module.__call__: entries kept with it would be guarded, and counted, together.
    """
    made = FunctionType(
        function.__code__.replace(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return made


class OptimizedModule(Module):
    """Calls run compiled; attributes are those of the module it was made of, which is its `_orig_mod`."""

    def __init__(self, module, compiled_call):
        super().__init__()
        self._orig_mod = module
        self._compiled_call = compiled_call

    def __call__(self, *args, **kwargs):
        return self._compiled_call(self._modules["_orig_mod"], *args, **kwargs)

    def forward(self, *args, **kwargs):
        return self(*args, **kwargs)

    @property
    def training(self):
        return self._orig_mod.training

    @training.setter
    def training(self, mode):
        if "_orig_mod" in self._modules:
            self._orig_mod.training = mode

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name in _OWN or name == "training" or "_orig_mod" not in self._modules:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        if name in _OWN:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
