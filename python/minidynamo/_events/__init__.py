"""One stream of what the compiler does, for logs that programs read, `check`, `report` and observers of a program.

What each kind of event holds is written in kinds.py, from which docs/events.md and the JSON schema follow.
"""

import os

from .stream import emit as emit
from .stream import frames_of as frames_of
from .stream import is_wanted as is_wanted
from .stream import stack_rows as stack_rows
from .stream import stand_at as stand_at
from .stream import subscribe as subscribe


def from_environment(version):
    """Writes the events of this process into the folder that MINIDYNAMO_TRACE, or TORCH_TRACE, names, and into that of
    a command that watches the program (MINIDYNAMO_WATCH), whatever the program does with the first.

    `version`: the package's, which files begin with.
    """
    environment = os.environ
    asked = (
        (environment.get("MINIDYNAMO_TRACE", environment.get("TORCH_TRACE")), "MINIDYNAMO_TRACE_ARTIFACTS"),
        (environment.get("MINIDYNAMO_WATCH"), "MINIDYNAMO_WATCH_ARTIFACTS"),
    )
    file = None
    for folder, artifacts in asked:
        if folder:
            from .folder import write_to

            file = write_to(folder, version, environment.get(artifacts, "graph_code")) or file
    if file is not None and environment.get("MINIDYNAMO_TRACE_COSTS", "0") not in ("", "0"):
        from .costs import Costs

        Costs(file)
