"""Programs for GPUs: for which one they are made, who is told of them, and of graphs of their launches."""

import logging
import os

from .. import _events, _logging
from .._targets import check_target
from . import config

_OF_PROCESS = os.environ.get("MINIDYNAMO_TARGET")  # as the process began


def wanted_target(options):
    """The target that the environment names, or the options of compile(), or the settings; None: nobody asks."""
    name = _OF_PROCESS or (options and options.get("target")) or config.target
    if not name:
        return None
    check_target(name)
    return name


def on_device_graph(graph, launches, why, kernels):
    """What became of the launches of a compiled graph on a GPU."""
    _events.emit("device_graph", graph=graph, launches=launches, kernels=kernels, why=why)


def on_target_program(code, name, graph, direction, program):
    """What native code has made of a graph; `program` is as TargetProgram.given."""
    log = _logging.get_artifact_logger("kernel_code")
    is_logged = log.isEnabledFor(logging.DEBUG)
    if not is_logged and not _events.is_wanted():
        return
    import base64

    for constant in program["constants"]:  # as events hold it, which are lines of text
        constant["content"] = base64.b64encode(constant["content"]).decode()
    place = {"function": name, "file": code.co_filename, "line": code.co_firstlineno}
    _events.emit("target_program", **place, graph=graph, direction=direction, target=program["target"], program=program)
    if is_logged:
        from .._targets.program import TargetProgram

        log.debug("%s", TargetProgram(graph, direction, *place.values(), program))
