"""What compile(module) and disable(module) give: a module that runs another one their way and is that one otherwise."""

from .. import _C
from .hooks import CALL_FACTS, CALL_TABLES, global_hooks
from .module import Module
from .parameter import is_lazy

_CO_GENERATOR = 0x20  # a flag of code objects
_STATE = (*CALL_TABLES, *CALL_FACTS, "forward")  # what a copy takes along
_OWN = ("_orig_mod", "_compiled_call", "_options", "forward")


def _generating(module):
    """Where `forward` is a generator function, what makes a call that compiles `forward` itself: it has no frame that
    could be replaced, and says so. None for other modules."""
    forward = type(module).forward
    code = getattr(forward, "__code__", None)
    if type(module).__call__ is not Module.__call__ or code is None or not code.co_flags & _CO_GENERATOR:
        return None

    def make(options):
        compiled = options.of_module(forward)

        def call(module, *args, **kwargs):
            hooked = global_hooks or any(getattr(module, table) for table in CALL_TABLES)
            return module._call_impl(*args, **kwargs) if hooked else compiled(module, *args, **kwargs)

        return call

    return make


def _has_no_sizes_yet(module):
    """Whether a layer takes its sizes from the first call: that one runs as plain Python."""
    return any(map(is_lazy, [*module.parameters(), *module.buffers()]))


class OptimizedModule(Module):
    """Calls run compiled, or never do; attributes are those of the module it was made of, which is its `_orig_mod`."""

    def __init__(self, module, options):
        super().__init__()
        self._orig_mod = module
        self._options = options
        call = type(module).__call__
        generating = _generating(module)
        self._compiled_call = generating(options) if generating else options.of_module(_C._original(call) or call)
        if _has_no_sizes_yet(module):
            self.__dict__["_waits"] = True

    def __call__(self, *args, **kwargs):
        own = self.__dict__
        if (
            own["_forward_hooks"]
            or own["_forward_pre_hooks"]
            or own["_backward_hooks"]
            or own["_backward_pre_hooks"]
            or "forward" in own
            or "_waits" in own
        ):
            if "_waits" in own:
                if _has_no_sizes_yet(self._orig_mod):
                    return self._orig_mod(*args, **kwargs)
                del own["_waits"]
                return self(*args, **kwargs)
            return self._call_with_hooks(args, kwargs)
        return own["_compiled_call"](own["_modules"]["_orig_mod"], *args, **kwargs)

    def forward(self, *args, **kwargs):
        return self._compiled_call(self._modules["_orig_mod"], *args, **kwargs)

    @property
    def _torchdynamo_orig_callable(self):
        return self._orig_mod.forward

    @property
    def training(self):
        return self._orig_mod.training

    @training.setter
    def training(self, mode):
        if "_orig_mod" in self._modules:
            self._orig_mod.training = mode

    def __len__(self):
        return len(self._orig_mod)

    def __bool__(self):
        return bool(self._orig_mod)  # a module without a length is true

    def __reduce__(self):
        state = {name: value for name, value in self.__dict__.items() if name in _STATE}
        return type(self), (self._orig_mod, self._options), state

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def _keeps(self, name):
        return name in _OWN or hasattr(type(self), name) or "_orig_mod" not in self._modules

    def __setattr__(self, name, value):
        if self._keeps(name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        if self._keeps(name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
