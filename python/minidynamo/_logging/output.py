"""How a message is written: the prefix on each of its lines, the stream, the optional file."""

import logging
import os
import sys
import threading
import time

_LETTERS = {"DEBUG": "V", "INFO": "I", "WARNING": "W", "ERROR": "E", "CRITICAL": "C"}
_PACKAGE_PARENT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Current(threading.local):
    """The compilation this thread is in, as printed: "0/0", "0/1_1", or "" outside."""

    compile_id = ""


current = Current()


def _short(path):
    return os.path.relpath(path, _PACKAGE_PARENT) if path.startswith(_PACKAGE_PARENT) else path


class PrefixFormatter(logging.Formatter):
    """`V1121 01:02:03.456000 123 minidynamo/x.py:9] [0/0] [__guards] ` in front of every line."""

    def format(self, record):
        when = time.strftime("%m%d %H:%M:%S", time.localtime(record.created))
        head = (
            f"{_LETTERS.get(record.levelname, record.levelname[:1])}{when}.{int(record.msecs):03d}000 {record.process} "
            f"{_short(record.pathname)}:{record.lineno}]"
        )
        if current.compile_id:
            head += f" [{current.compile_id}]"
        artifact = record.name.rpartition(".__")[2] if ".__" in record.name else ""
        if artifact:
            head += f" [__{artifact}]"
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return "\n".join(f"{head} {line}" for line in text.split("\n"))


class StderrHandler(logging.StreamHandler):
    """Looks sys.stderr up at each message, so that redirecting it later works."""

    def __init__(self):
        logging.Handler.__init__(self)

    @property
    def stream(self):
        return sys.stderr


def make_handlers():
    """Handlers as the environment asks for them."""
    own = os.environ.get("MINIDYNAMO_LOGS_FORMAT") or os.environ.get("TORCH_LOGS_FORMAT")
    formatter = logging.Formatter(own) if own else PrefixFormatter()
    handlers = [StderrHandler()]
    path = os.environ.get("MINIDYNAMO_LOGS_OUT") or os.environ.get("TORCH_LOGS_OUT")
    if path:
        handlers.append(logging.FileHandler(path, encoding="utf-8", delay=True))
    for handler in handlers:
        handler.setFormatter(formatter)
        handler.minidynamo = True
    return handlers
