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
    """Writes the events of this process into the folder that MINIDYNAMO_TRACE, or TORCH_TRACE, names.

    `version`: the package's, which files begin with.
    """
    folder = os.environ.get("MINIDYNAMO_TRACE", os.environ.get("TORCH_TRACE"))
    if folder:
        from .folder import write_to

        write_to(folder, version)
