"""`python -m minidynamo run`: a program as `python SCRIPT` or `python -m MODULE` would run it, compiled or counted."""

import atexit
import builtins
import importlib.machinery
import io
import json
import os
import pkgutil
import sys
import types
from collections import Counter

from .. import _C
from .._as_torch import install_as_torch, install_in_children
from . import config, recording
from . import report as messages

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def report():
    """How frames ended so far: {"totals": {...}, "functions": [...], "places": [...]}, JSON-ready.

    Counted from `_C._count_frames(True)` on. `whole`, `partly` and `skipped` count calls, `breaks` traces by
    graph-break code, `skips` calls by the reason for which they ran as plain Python. A place is a line of the program
    with the code, title, explanation and hints of the break that was met there, and how often.
    """
    functions = _C._frame_counts()
    totals = {"whole": 0, "partly": 0, "skipped": 0}
    breaks, skips = Counter(), Counter()
    for row in functions:
        for name in totals:
            totals[name] += row[name]
        breaks.update(row["breaks"])
        skips.update(row["skips"])
    return {
        "totals": {**totals, "breaks": dict(breaks.most_common()), "skips": dict(skips.most_common())},
        "functions": functions,
        "places": recording.places(),
    }


def _write_report(path):
    _C._count_frames(False)
    if path == "-":
        text = json.dumps(report())
        with open(os.dup(1), "w", encoding="utf-8") as out:  # the program may have closed or replaced sys.stdout
            for before in (sys.stdout, sys.__stdout__):  # what the program has printed comes first
                try:
                    before.flush()
                except Exception:  # noqa: BLE001  whatever the program has put there, the report is written
                    pass
            out.write(text + "\n")
        return
    temporary = f"{path}.part"
    with open(temporary, "w", encoding="utf-8") as out:
        json.dump(report(), out)
    os.replace(temporary, path)


def _end(path, process):
    """At exit, after the program's own exit functions: while the interpreter goes down nothing is compiled."""
    if os.getpid() != process:  # a child that was forked
        return
    _C._run_everything(False)
    if path:
        try:
            _write_report(path)
        except OSError as error:
            sys.stderr.write(f"python -m minidynamo: cannot write the report: {error.strerror}\n")


def _fresh_main():
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main


def _script_code(path):
    """The code object of a file, from source or, for .pyc, as it is."""
    if path.endswith(".pyc"):
        return importlib.machinery.SourcelessFileLoader("__main__", path).get_code("__main__")
    with io.open_code(path) as file:
        source = file.read()
    return compile(source, path, "exec", dont_inherit=True)


def _module_code(name, main, details):
    """The code of a module found by runpy, with `main` made ready for it."""
    import runpy

    try:
        name, spec, code = details(runpy._Error) if name is None else details(name, runpy._Error)
    except runpy._Error as error:
        raise SystemExit(f"{sys.executable}: {error}") from None
    cached = spec.cached if spec.has_location else None
    for key, value in dict(file=spec.origin, cached=cached, loader=spec.loader, spec=spec).items():
        setattr(main, f"__{key}__", value)
    main.__package__ = spec.parent
    return code


def _start(script, arguments, is_module):
    """(code, its globals); sys.argv, sys.path and __main__ are as the interpreter would have set them."""
    import runpy

    main = _fresh_main()
    if is_module:
        sys.argv[:] = ["-m", *arguments]
        code = _module_code(script, main, runpy._get_module_details)
        sys.argv[0] = main.__file__
        return code, main.__dict__
    sys.argv[:] = [script, *arguments]
    if sys.flags.safe_path:
        sys.path.insert(0, "")
    path = os.path.abspath(script)
    if pkgutil.get_importer(path) is not None:  # a folder or zip file with a __main__.py
        sys.path[0] = path
        return _module_code(None, main, runpy._get_main_module_details), main.__dict__
    if sys.flags.safe_path:
        del sys.path[0]
    else:
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    main.__file__ = path
    main.__cached__ = None
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    try:
        return _script_code(path), main.__dict__
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n")
        raise SystemExit(2) from None


def _without_own_frames(traceback):
    """The part of a traceback that a plain run would have: from the program's first frame on."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        traceback = traceback.tb_next
    return traceback


def run(script, arguments, *, is_module=False, everything=False, trace_more=False, as_torch=False, report_path=None):
    """Runs a program to its end and exits as it does. Never returns.

    `everything` compiles every Python function, this package's own excepted, and replaces its frame also where no
    tensor operation was found (config.force_replace). `as_torch` gives minidynamo to whoever imports torch, in
    processes started by multiprocessing too.
    `report_path` "-" is the standard output.
    """
    if as_torch:
        install_as_torch()
        install_in_children()
    atexit.register(_end, report_path, os.getpid())
    if trace_more:
        config.trace_more = True
    if report_path:
        _C._count_frames(True)
        recording.collect_places()
    try:
        code, namespace = _start(script, arguments, is_module)
        if everything:
            config.force_replace = True
            config.skip_code_recursive_on_recompile_limit_hit = False  # what it calls is compiled all the same
            config.recompile_limit = 64  # frames of the library meet many strings and classes
            messages.silence()
            _C._run_everything(True)
        exec(code, namespace)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  printed as the interpreter does, without the frames above it
        error.__traceback__ = _without_own_frames(error.__traceback__)
        _C._end_with(error)
        raise SystemExit(1) from None
    raise SystemExit(0)
