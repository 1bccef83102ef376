"""install_as_torch(): programs that say `import torch` get this package."""

import sys

from ._lock import process_lock

PACKAGE = __package__
_lock = process_lock()


class _SameModule:
    """Loads `torch.x` by importing `minidynamo.x`: one module with two names, run once."""

    def __init__(self, own):
        self._own = own

    def create_module(self, spec):
        from importlib import import_module

        module = import_module(self._own)
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._spec  # the import system has put that of the other name in its place


class _Aliases:
    """In front of all finders: the others would run our files a second time, under torch's names."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        first, dot, rest = fullname.partition(".")
        if first != "torch" or sys.modules.get("torch") is not sys.modules.get(PACKAGE):
            return None
        from importlib import util

        own = util.find_spec(PACKAGE + dot + rest)
        if own is None:
            return None
        return util.spec_from_loader(
            fullname, _SameModule(own.name), origin=own.origin, is_package=own.submodule_search_locations is not None
        )


def install_as_torch():
    """From here on `import torch` gives minidynamo, and `import torch.x`, `from torch.x import y` its module x.

    The modules are the same ones: `torch.nn is minidynamo.nn`, also where they are imported later. What is not here
    raises ModuleNotFoundError. Calling it again does nothing. Raises RuntimeError if another torch has been imported.
    """
    with _lock:
        own, loaded = sys.modules[PACKAGE], sys.modules.get("torch")
        if loaded is own:
            return
        if loaded is not None or any(name.startswith("torch.") for name in list(sys.modules)):
            place = getattr(loaded, "__file__", None) or "unknown"
            raise RuntimeError(
                f"install_as_torch() comes too late: another torch has been imported already (from {place}); "
                f"call it before anything imports torch"
            )
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == PACKAGE and module is not None:
                sys.modules["torch" + name.removeprefix(PACKAGE)] = module
        sys.meta_path.insert(0, _Aliases)


class _Name(str):
    """The name of a process: part of what a new interpreter reads before it loads the program's main file."""

    def __reduce__(self):
        return _named, (str(self),)


def _named(name):
    install_as_torch()
    install_in_children()
    return name


def install_in_children():
    """install_as_torch() in interpreters that multiprocessing starts anew as well, before they run any of the program.

    For a program that does not do it itself: its main file, which such an interpreter loads again, imports torch.
    """
    from multiprocessing import spawn

    prepared = spawn.get_preparation_data

    def get_preparation_data(name):
        return {**prepared(name), "name": _Name(name)}

    spawn.get_preparation_data = get_preparation_data
