"""torch.multiprocessing: Python's multiprocessing, with tensors that travel as shared memory, and spawn().

From the import on a tensor that is put into a queue or given to a process moves to shared memory: sender and receiver
see each other's later writes.
"""

import multiprocessing
from multiprocessing import *  # noqa: F403  all that Python has

from .._absent import absent_names as _absent_names
from ._processes import ProcessContext as ProcessContext
from ._processes import ProcessExitedException as ProcessExitedException
from ._processes import ProcessRaisedException as ProcessRaisedException
from ._processes import SpawnContext as SpawnContext
from ._processes import spawn as spawn
from ._processes import start_processes as start_processes
from .reductions import init_reductions as init_reductions

__all__ = ["set_sharing_strategy", "get_sharing_strategy", "get_all_sharing_strategies"]
__all__ += multiprocessing.__all__
_STRATEGIES = frozenset({"file_descriptor", "file_system"})
_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy):
    """Holds 'file_descriptor' or 'file_system', AssertionError for others. Both share by descriptors here."""
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"there is no sharing strategy {new_strategy!r}, only {sorted(_STRATEGIES)}")
    _strategy = new_strategy


def get_sharing_strategy():
    """What set_sharing_strategy() set, 'file_descriptor' at first."""
    return _strategy


def get_all_sharing_strategies():
    """The names set_sharing_strategy() takes."""
    return set(_STRATEGIES)


init_reductions()
__getattr__ = _absent_names(__name__)
