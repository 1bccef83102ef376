"""Process groups of one process: who is in them, and the operations that name them."""

import datetime
import enum
import threading

from .._absent import absent_names as _absent_names

default_pg_timeout = datetime.timedelta(seconds=1800)
_BUILT_IN = ("gloo", "fake")
_KNOWN = (*_BUILT_IN, "nccl", "mpi", "ucc", "xccl")


class DistError(RuntimeError):
    """An error of a process group."""


class DistBackendError(DistError):
    """An error of what carries messages."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of a store."""


class RedOpType(enum.Enum):
    """How values of several processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class ReduceOp:
    """Names of the RedOpTypes; ReduceOp(op) gives `op`."""

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR

    def __new__(cls, op):
        if not isinstance(op, RedOpType):
            raise TypeError(f"ReduceOp() takes one of its own names, as ReduceOp.SUM, got {op!r}")
        return op


class Backend(str):
    """The name of what carries messages, in small letters."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    FAKE = "fake"

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError(f"Backend() takes a text, got {name!r}")
        return super().__new__(cls, name.lower())


class ProcessGroup:
    """Processes that work together; here there is one, of rank 0."""

    def __init__(self, backend, name):
        self.backend, self.group_name, self.group_desc = backend, name, name or "default_pg"

    def rank(self):
        """0."""
        return 0

    def size(self):
        """1."""
        return 1

    def name(self):
        """The backend."""
        return str(self.backend)


class Work:
    """What an operation with `async_op` gives. With one process it has ended when it is given."""

    def __init__(self, tensors=()):
        self._tensors = list(tensors)

    def wait(self, timeout=None):
        """True: it has ended."""
        return True

    def is_completed(self):
        """True: it has ended."""
        return True

    def is_success(self):
        """True: no other process could fail."""
        return True

    def synchronize(self):
        """Nothing: it has ended."""

    def exception(self):
        """None: it has not failed."""
        return None

    def result(self):
        """The tensors that were written."""
        return self._tensors


class _GroupNames(type):
    @property
    def WORLD(cls):
        """The group of all processes; None before init_process_group()."""
        return world.default

    @WORLD.setter
    def WORLD(cls, group):
        world.default = group


class group(metaclass=_GroupNames):
    """`group.WORLD`: the group of all processes."""


class GroupMember(metaclass=_GroupNames):
    """`GroupMember.WORLD`, and what new_group() gives to processes that are not in the group."""

    NON_GROUP_MEMBER = -100


class _World:
    """The groups there are."""

    def __init__(self):
        self.default = None
        self.groups = []
        self.lock = threading.Lock()


world = _World()


def check_backend(backend):
    """The Backend of a text such as 'gloo' or 'cpu:gloo'; 'undefined' for None.

    AssertionError for unknown names, RuntimeError for those that are not built in.
    """
    if backend is None:
        return Backend("undefined")
    backend = Backend(backend)
    for part in backend.split(","):
        name = part.rpartition(":")[2]
        if name not in _KNOWN and name != "undefined":
            raise AssertionError(f"there is no backend {name!r}, only 'gloo'")
        if name not in _BUILT_IN and name != "undefined":
            raise RuntimeError(f"the backend {name!r} is not part of this build; use 'gloo'")
    return backend


def member(given):
    """The group that was meant, the default one by None. ValueError before init_process_group()."""
    if given is None or given is GroupMember:
        if world.default is None:
            raise ValueError("there is no process group: call init_process_group() first")
        return world.default
    if not isinstance(given, ProcessGroup):
        raise TypeError(f"a ProcessGroup is needed, got {type(given).__name__}")
    if given is not world.default and given not in world.groups:
        raise ValueError("the process group has been destroyed")
    return given


__getattr__ = _absent_names(__name__)
