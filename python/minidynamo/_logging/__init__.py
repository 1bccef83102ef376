"""Logs of the compiler: `set_logs(...)` from a program, MINIDYNAMO_LOGS or TORCH_LOGS from the environment.

Built on Python's logging. Off by default except warnings. `_enabled_mask` holds one bit per kind of output (see
names.BITS): native code reads it once per compilation and makes no text that nobody wants.
"""

import logging as _logging
import os as _os
import sys as _sys

from .._absent import absent_names as _absent_names
from .._lock import process_lock as _process_lock
from .names import ARTIFACTS, BITS, COMPONENTS, artifact_logger_name
from .output import current, make_handlers
from .settings import Settings, check_flag, check_level, parse

__all__ = ["set_logs", "get_artifact_logger", "getArtifactLogger"]

_enabled_mask = 0
_lock = _process_lock()
_module_levels = set()  # loggers of single modules that were given a level
_artifact_loggers = {}  # kept: logging.getLogger() takes a lock that all threads share


def get_artifact_logger(artifact):
    """The logger of one kind of output ("graph_code"). Raises ValueError for a name that is none."""
    if known := _artifact_loggers.get(artifact):
        return known
    if artifact not in ARTIFACTS:
        raise ValueError(f"Artifact name: {artifact} not registered, valid names: {', '.join(sorted(ARTIFACTS))}")
    return _artifact_loggers.setdefault(artifact, _logging.getLogger(artifact_logger_name(artifact)))


def getArtifactLogger(module_name, artifact):
    """As torch spells it; the module plays no part here."""
    return get_artifact_logger(artifact)


def _logger_of(name):
    """Loggers behind a component or a dotted module name; torch.x means minidynamo.x."""
    if name in COMPONENTS:
        return COMPONENTS[name]
    return ("minidynamo" + name[len("torch") :] if name.startswith("torch.") else name,)


def _attach_handlers():
    """One set of handlers at the package's logger, made anew with each setting."""
    root = _logging.getLogger("minidynamo")
    for handler in [h for h in root.handlers if getattr(h, "minidynamo", False)]:
        root.removeHandler(handler)
        handler.close()
    for handler in make_handlers():
        root.addHandler(handler)
    root.propagate = False


def _apply(settings):
    global _enabled_mask
    with _lock:
        _attach_handlers()
        for name in [*(n for names in COMPONENTS.values() for n in names), *_module_levels]:
            _logging.getLogger(name).setLevel(_logging.NOTSET)
        _logging.getLogger("minidynamo").setLevel(_logging.WARNING)
        _module_levels.clear()
        for name, level in settings.levels.items():
            for logger_name in _logger_of(name):
                _logging.getLogger(logger_name).setLevel(level)
                if name not in COMPONENTS:
                    _module_levels.add(logger_name)
        on = settings.artifacts | {
            artifact
            for artifact, component in ARTIFACTS.items()
            if component and settings.levels.get(component) == _logging.DEBUG
        }
        for artifact in ARTIFACTS:
            _logging.getLogger(artifact_logger_name(artifact)).setLevel(
                _logging.DEBUG if artifact in on else _logging.WARNING
            )
        _logged[:] = on
        _enabled_mask = _mask_of([*on, *_wished])


_logged, _wished = [], []  # artifacts that are logged; that events are made of


def wish(artifacts, on=True):
    """Texts of these artifacts are made for events as well; until the same call with `on=False`."""
    global _enabled_mask
    if unknown := [name for name in artifacts if name not in BITS]:
        raise ValueError(f"no such artifact: {unknown[0]!r}; there are {', '.join(sorted(BITS))}")
    with _lock:
        for name in artifacts:
            _wished.append(name) if on else _wished.remove(name)
        _enabled_mask = _mask_of([*_logged, *_wished])


def _mask_of(artifacts):
    dynamo = _logging.getLogger("minidynamo._dynamo")
    mask = sum([BITS[a] for a in {*artifacts} if a in BITS])
    if dynamo.isEnabledFor(_logging.INFO):
        mask |= BITS["dynamo_info"]
    if dynamo.isEnabledFor(_logging.DEBUG):
        mask |= BITS["dynamo_debug"]
    if _logging.getLogger(COMPONENTS["dynamic"][0]).isEnabledFor(_logging.INFO):
        mask |= BITS["dynamic_info"]
    return mask


def set_logs(*, all=None, modules=None, **names):
    """Replaces the log settings: `set_logs(dynamo=logging.DEBUG, graph_breaks=True)`; no argument switches all off.

    `modules` maps dotted module names to levels or artifact names to True. While MINIDYNAMO_LOGS or TORCH_LOGS is set
    in the environment, that setting stays and the call only warns.
    """
    settings = Settings()
    if all is not None:
        settings.enable("all", check_level("all", all))
    for name, value in {**names, **(modules or {})}.items():
        if name in ARTIFACTS:
            if check_flag(name, value):
                settings.enable(name, None)
        elif name in COMPONENTS or name in (modules or {}):
            settings.enable(name, check_level(name, value))
        else:
            raise TypeError(f"set_logs() got an unexpected keyword argument {name!r}")
    if _environment() is not None:
        _logging.getLogger("minidynamo").warning(
            "The environment sets the logs (MINIDYNAMO_LOGS or TORCH_LOGS); this call of set_logs has no effect"
        )
        return
    _apply(settings)


def _environment():
    text = _os.environ.get("MINIDYNAMO_LOGS", _os.environ.get("TORCH_LOGS"))
    return text if text else None


def set_compile_id(text):
    """The compilation this thread is in, for the prefix; "" when it ends."""
    current.compile_id = text


def _start():
    text = _environment()
    try:
        settings = parse(text) if text is not None else Settings()
    except ValueError as error:
        # A mistake in the environment is no reason to keep the program from starting.
        print(error, file=_sys.stderr)
        settings = Settings()
    _apply(settings)


_start()

__getattr__ = _absent_names(__name__)
