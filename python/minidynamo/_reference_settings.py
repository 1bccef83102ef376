"""Settings of the reference's other compiler stages: programs set and patch them, and nothing here reads them.

Names and defaults are facts of torch (reference_settings.json); results are the same whatever they say. A name that is
not among them is refused.
"""

import contextlib
import contextvars
import copy
import functools
import json
import os
import sys
import types


@functools.cache
def table(space):
    """{name: default} of a module, or of "modes"."""
    with open(os.path.join(os.path.dirname(__file__), "reference_settings.json"), encoding="utf-8") as file:
        return json.load(file)[space]


class _Part:
    """Settings with a common first name, as `config.triton`."""

    def __init__(self, owner, prefix):
        object.__setattr__(self, "_of", (owner, prefix))

    def __getattr__(self, name):
        owner, prefix = self._of
        return getattr(owner, f"{prefix}.{name}")

    def __setattr__(self, name, value):
        owner, prefix = self._of
        setattr(owner, f"{prefix}.{name}", value)

    def __delattr__(self, name):
        owner, prefix = self._of
        delattr(owner, f"{prefix}.{name}")

    def __dir__(self):
        owner, prefix = self._of
        return sorted({name.split(".")[1] for name in owner._defaults if name.startswith(prefix + ".")})


class _Patch(contextlib.ContextDecorator):
    """Values that the current context sees until it is left."""

    def __init__(self, owner, changes):
        for name in changes:
            owner._check(name)
        self._owner, self._changes, self._before = owner, changes, []

    def _recreate_cm(self):
        return type(self)(self._owner, self._changes)

    def __enter__(self):
        self._before.append(self._owner._patched.get())
        self._owner._patched.set({**(self._before[-1] or {}), **self._changes})

    def __exit__(self, *error):
        self._owner._patched.set(self._before.pop())
        return False


class SettingsModule(types.ModuleType):
    """A module whose attributes are settings."""

    def _begin(self, space):
        self.__dict__.update(
            _defaults=table(space),
            _values={},
            _shown=f"torch.{space}",
            _patched=contextvars.ContextVar(f"minidynamo{space}", default=None),
        )

    def _check(self, name):
        if name not in self._defaults:
            raise AttributeError(f"{self._shown}.{name} does not exist")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name not in self._defaults and any(key.startswith(name + ".") for key in self._defaults):
            return _Part(self, name)
        self._check(name)
        patched = self._patched.get() or {}
        if name in patched:
            return patched[name]
        return self._values.setdefault(name, copy.deepcopy(self._defaults[name]))

    def __setattr__(self, name, value):
        if name.startswith("__"):
            return super().__setattr__(name, value)
        self._check(name)
        patched = self._patched.get()
        if patched and name in patched:
            self._patched.set({**patched, name: value})
        else:
            self._values[name] = value

    def __delattr__(self, name):
        """Back to the default."""
        self._check(name)
        self._values.pop(name, None)

    def __dir__(self):
        return sorted({*(name.split(".")[0] for name in self._defaults), "patch", *_METHODS})

    def patch(self, arg1=None, arg2=None, **kwargs):
        """patch(x=1), patch("x", 1) or patch({"triton.cudagraphs": True}): context manager and decorator."""
        changes = dict(arg1) if isinstance(arg1, dict) else {} if arg1 is None else {arg1: arg2}
        changes |= kwargs
        if not changes:
            raise TypeError("config.patch() needs at least one entry to change")
        return _Patch(self, changes)

    def get_config_copy(self):
        """A dict of all settings; containers are copied."""
        return {name: copy.deepcopy(getattr(self, name)) for name in self._defaults}

    def shallow_copy_dict(self):
        """A dict of all settings."""
        return {name: getattr(self, name) for name in self._defaults}

    to_dict = get_serializable_config_copy = get_config_copy

    def is_default(self, name):
        """Whether the setting has its default."""
        return getattr(self, name) == self._defaults[name]

    def codegen_config(self):
        """The assignments, as a program, that set what differs from the defaults."""
        changed = [name for name in self._defaults if not self.is_default(name)]
        return "\n".join([f"{self._shown}.{name} = {getattr(self, name)!r}" for name in changed])

    def save_config(self):
        """All settings as bytes, for load_config()."""
        import pickle

        return pickle.dumps(self.get_config_copy())

    def load_config(self, maybe_pickled_config):
        """Sets what a dict holds, or the bytes of save_config()."""
        import pickle

        given = maybe_pickled_config
        for name, value in (given if isinstance(given, dict) else pickle.loads(given)).items():
            setattr(self, name, value)

    def get_hash(self):
        """Bytes that differ where settings differ."""
        import hashlib

        return hashlib.md5(repr(sorted(self.to_dict().items())).encode(), usedforsecurity=False).digest()


_METHODS = [name for name in vars(SettingsModule) if not name.startswith("_")]


def become(name, space):
    """Makes the imported module `name` one of settings, those of `space`."""
    module = sys.modules[name]
    module.__class__ = SettingsModule
    module._begin(space)


def check_options(options):
    """RuntimeError for options of torch.compile that torch's compiler does not know, or of another type."""
    known = table("_inductor.config")
    for name, value in options.items():
        name = name.replace("-", "_")
        if name not in known:
            raise RuntimeError(
                f"Unexpected optimization option {name}; torch._inductor.list_options() names those that there are"
            )
        default = known[name]
        if default is not None and type(value) is not type(default):
            raise RuntimeError(
                f"Unexpected type of attr {name}, got {type(value).__name__} should be {type(default).__name__}"
            )
