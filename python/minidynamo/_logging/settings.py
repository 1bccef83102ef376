"""The grammar of MINIDYNAMO_LOGS / TORCH_LOGS: a comma list of [+|-]name, name a component, artifact or module."""

import logging

from .names import ARTIFACTS, COMPONENTS, LEVELS


class Settings:
    """Which components have which level, which artifacts are on."""

    def __init__(self):
        self.levels = {}  # component or dotted module -> level
        self.artifacts = set()

    def enable(self, name, level):
        if name == "all":
            self.levels.update(dict.fromkeys(COMPONENTS, level))
        elif name in ARTIFACTS:
            self.artifacts.add(name)
        else:
            self.levels[name] = level


def _is_module(name):
    import importlib.util  # rarely needed, and import time counts

    name = "minidynamo" + name[len("torch") :] if name == "torch" or name.startswith("torch.") else name
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def valid_names_text():
    return (
        f"  all, {', '.join(sorted(COMPONENTS))}: components, with a level\n"
        f"  {', '.join(sorted(ARTIFACTS))}: artifacts, on or off\n"
        "  or the name of a Python module"
    )


HELP = """
MINIDYNAMO_LOGS (or TORCH_LOGS) is a comma separated list of names, each with an optional prefix:
    name     component: level INFO      artifact: on
    +name    component: level DEBUG     artifact: on
    -name    component: level ERROR     artifact: on
The last mention of a name wins. Names:
{names}
Examples:
    MINIDYNAMO_LOGS="graph_breaks"              every graph break with the user's stack
    MINIDYNAMO_LOGS="+dynamo"                   everything the tracer does
    MINIDYNAMO_LOGS="graph_code,recompiles"     each graph as code, and why functions are compiled again
TORCH_LOGS_OUT=FILE writes the messages to a file as well; TORCH_LOGS_FORMAT takes a format of Python's logging module.
From a program: minidynamo._logging.set_logs(dynamo=logging.DEBUG, graph_breaks=True)
"""


def parse(text):
    """Settings of a list as in the environment; ValueError with an explanation for anything else."""
    settings = Settings()
    for item in text.split(","):
        item = item.strip()
        prefix = item[:1] if item[:1] in ("+", "-") else ""
        name = item[len(prefix) :]
        if name == "help":
            raise ValueError(HELP.format(names=valid_names_text()))
        if name not in COMPONENTS and name not in ARTIFACTS and name != "all" and not _is_module(name):
            raise ValueError(
                f"Invalid log settings: {text}, must be a comma separated list of component, artifact or module names, "
                f"each with an optional + or - in front; {name!r} is none.\nValid settings:\n{valid_names_text()}"
            )
        settings.enable(name, LEVELS[prefix])
    return settings


def check_level(name, level):
    """A component wants one of logging's levels."""
    valid = (logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, logging.NOTSET)
    if isinstance(level, bool) or level not in valid:
        raise ValueError(
            f"Unrecognized log level for log {name}: {level}, valid level values are: {','.join(map(str, valid))}"
        )
    return level


def check_flag(name, value):
    if not isinstance(value, bool):
        raise ValueError(f"Expected bool to enable artifact {name}, received {type(value)}")
    return value
