"""C++ sources compiled and loaded at run time: `load_inline`.

Sources see namespace `torch` with a small Tensor class (include/torch/tensor.h). What is built is kept below
$XDG_CACHE_HOME/minidynamo/extensions (~/.cache by default), by its content, and built once.
"""

import contextlib
import errno
import hashlib
import importlib.machinery
import importlib.util
import os
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile

from .._absent import absent_names as _absent_names

_INCLUDE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "include")


def _cache_root():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "minidynamo", "extensions", f"py{sys.version_info[0]}{sys.version_info[1]}_cpu")


def _refuse_foreign(path):
    """PermissionError if others than the user (and root) own `path` or may write to it: what lies there is run."""
    found = os.lstat(path)
    if found.st_uid not in (os.geteuid(), 0):
        raise PermissionError(
            f"load_inline(): {path} belongs to another user ({found.st_uid}); what is in it is not run"
        )
    if stat.S_ISLNK(found.st_mode):
        raise PermissionError(f"load_inline(): {path} is a symbolic link; what it points to is not run")
    # A group of the user's own, which many systems give everybody, is no others.
    foreign = stat.S_IWOTH | (stat.S_IWGRP if found.st_gid != os.getegid() else 0)
    if found.st_mode & foreign:
        raise PermissionError(
            f"load_inline(): others may write to {path} (mode {stat.S_IMODE(found.st_mode):o}); what is in it is not "
            f"run. Make it your own: chmod go-w {shlex.quote(path)}"
        )


def _private_folder(path):
    """Makes `path`, for the user alone, and checks it and, of our own cache, the folders above it."""
    missing = []
    while not os.path.isdir(path if not missing else os.path.dirname(missing[-1])):
        missing.append(path if not missing else os.path.dirname(missing[-1]))
    for folder in reversed(missing):  # makedirs() gives its mode to the last one only
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
    root = os.path.dirname(os.path.dirname(_cache_root()))
    while True:
        _refuse_foreign(path)
        above = os.path.dirname(path)
        if os.path.commonpath([root, above]) != root or above == path:
            return
        path = above


def _check_name(name, folder):
    """OSError before anything is built if a file or module of this name cannot be."""
    most = 255
    with contextlib.suppress(OSError, AttributeError, ValueError):
        existing = folder
        while not os.path.exists(existing):
            existing = os.path.dirname(existing)
        most = os.pathconf(existing, "PC_NAME_MAX")
    longest = len(os.fsencode(f"{name}_{'0' * 24}.so"))
    if longest > most:
        raise OSError(
            errno.ENAMETOOLONG,
            f"load_inline(): the name of the extension is too long: its files would have names of {longest} bytes, and "
            f"{most} is the most there can be",
            name,
        )


def include_paths(device_type="cpu"):
    """Folders with the headers of extensions."""
    return [_INCLUDE]


def _compiler():
    wanted = os.environ.get("CXX", "c++")
    for command in (wanted, "g++", "clang++"):
        if found := shutil.which(shlex.split(command)[0]):
            return [found, *shlex.split(command)[1:]]
    raise RuntimeError(
        "load_inline() needs a C++ compiler, and there is none: install g++ (Debian: apt install g++), or name one in "
        "the environment variable CXX"
    )


def _headers():
    """Contents of the shipped headers: extensions are built again when they change."""
    for folder, _, files in sorted(os.walk(_INCLUDE)):
        for file in sorted(files):
            with open(os.path.join(folder, file), "rb") as f:
                yield f.read()


def _bindings(name, functions):
    lines = "\n".join(f'  m.def("{f}", &{f});' for f in functions)
    return f"PYBIND11_MODULE({name}, m) {{\n{lines}\n}}\n"


def _source_text(name, sources, functions):
    parts = ["#include <torch/extension.h>\n"]
    for number, source in enumerate(sources):
        parts.append(f'#line 1 "{name}: cpp_sources[{number}]"\n{source}\n')
    if functions or not any("PYBIND11_MODULE" in source for source in sources):
        parts.append(f'#line 1 "{name}: bindings"\n{_bindings(name, functions)}')
    return "".join(parts)


def _run(command, folder, what):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode == 0:
        return
    output = (done.stderr + done.stdout).strip()
    raise RuntimeError(
        f"Error building extension {what!r}: the compiler refused the source.\n{output}\n"
        f"Lines are counted within each of the cpp_sources; the command was: {shlex.join(command)}"
    )


def _build(name, text, target, compile_command, link_command, verbose):
    """Builds in a folder of its own and moves the result into place at once: builds at the same time do no harm."""
    with tempfile.TemporaryDirectory(prefix=".build-", dir=os.path.dirname(target)) as folder:
        with open(os.path.join(folder, "main.cpp"), "w", encoding="utf-8") as f:
            f.write(text)
        for step, command in enumerate((compile_command, link_command), 1):
            if verbose:
                print(f"[{step}/2] {shlex.join(command)}", flush=True)
            _run(command, folder, name)
        os.replace(os.path.join(folder, "main.cpp"), os.path.join(os.path.dirname(target), "main.cpp"))
        made = os.path.join(folder, f"{name}.so")
        os.chmod(made, 0o700)
        os.replace(made, target)


def _loaded(name, path):
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def load_inline(
    name,
    cpp_sources,
    cuda_sources=None,
    functions=None,
    extra_cflags=None,
    extra_cuda_cflags=None,
    extra_ldflags=None,
    extra_include_paths=None,
    build_directory=None,
    verbose=False,
    with_cuda=None,
):
    """Compiles C++ given as text and returns a Python module with `functions`.

    `cpp_sources` is a string or a list of strings, compiled as one file. `functions` names C++ functions (a list, a
    string, or a dict whose values, docstrings, are not used); without it the source has a PYBIND11_MODULE block with
    `m.def("name", &function)`. Functions take and return tensors, numbers, bools, strings, std::optional, std::vector
    and std::tuple of them. `verbose=True` prints the two commands.

    Raises RuntimeError with the compiler's message if the source does not compile, if there is no compiler, and for
    CUDA sources; ValueError for a name that is no identifier; OSError for a name too long for a file; PermissionError
    if others may write where built extensions are kept, or own it.
    """
    if cuda_sources or with_cuda:
        raise RuntimeError("load_inline(): there is no CUDA here; pass C++ in cpp_sources")
    if not name.isidentifier():
        raise ValueError(f"the name of an extension is an identifier; {name!r} is none")
    sources = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    functions = [functions] if isinstance(functions, str) else list(functions or ())
    text = _source_text(name, sources, functions)
    python = sysconfig.get_paths()["include"]
    if not os.path.exists(os.path.join(python, "Python.h")):
        raise RuntimeError(
            f"load_inline() needs the headers of Python, which are not in {python}: install python3-dev (Debian: apt "
            f"install python3-dev)"
        )
    compiler = _compiler()
    includes = [f"-I{path}" for path in extra_include_paths or ()]
    compile_command = [*compiler, f"-DTORCH_EXTENSION_NAME={name}", "-isystem", _INCLUDE, "-isystem", python, *includes]
    compile_command += ["-fPIC", "-std=c++17", "-O2", *(extra_cflags or ()), "-c", "main.cpp", "-o", "main.o"]
    link_command = [*compiler, "main.o", "-shared", *(extra_ldflags or ()), "-o", f"{name}.so"]
    key = hashlib.sha256(repr((text, compile_command, link_command, sys.version)).encode())
    for content in _headers():
        key.update(content)
    folder = build_directory or os.path.join(_cache_root(), f"{name}_{key.hexdigest()[:24]}")
    folder = os.path.abspath(folder)
    _check_name(name, folder)
    _private_folder(folder)
    target = os.path.join(folder, f"{key.hexdigest()[:24]}.so" if build_directory else f"{name}.so")
    if not os.path.exists(target):
        _build(name, text, target, compile_command, link_command, verbose)
    elif verbose:
        print(f"{name} is built already: {target}")
    _refuse_foreign(target)
    return _loaded(name, target)


__getattr__ = _absent_names(__name__)
