"""init_process_group and its kin: the process group of a program that runs as one process."""

import os
from urllib.parse import parse_qs, urlparse

from . import _group
from ._group import Backend, ProcessGroup, check_backend, member, world


def is_available():
    """True: groups of one process can be made."""
    return True


def is_initialized():
    """Whether init_process_group() was called."""
    return world.default is not None


def is_gloo_available():
    """True: the group of one process answers to the name."""
    return True


def is_nccl_available():
    """False."""
    return False


def is_mpi_available():
    """False."""
    return False


def is_ucc_available():
    """False."""
    return False


def is_xccl_available():
    """False."""
    return False


def is_backend_available(backend):
    """Whether the name is one of a backend that can be used: 'gloo'."""
    return backend.lower() == "gloo"


def is_torchelastic_launched():
    """Whether torch's launcher has started this process, as it says in the environment."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_default_backend_for_device(device):
    """'gloo' for the CPU; ValueError for other devices."""
    from .. import _C

    kind = _C.device(device).type
    if kind != "cpu":
        raise ValueError(f"there is no backend for {kind} devices")
    return "gloo"


def _from_environment(name):
    if not os.environ.get(name):
        raise ValueError(f"init_process_group with env://: the environment variable {name} is not set")
    return os.environ[name]


def _rank_and_size(init_method, rank, world_size):
    """Rank and size of the world, from the arguments or from where `init_method` says."""
    url = urlparse(init_method)
    said = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
    rank = said.get("rank", -1) if rank == -1 else rank
    world_size = said.get("world_size", -1) if world_size == -1 else world_size
    if url.scheme == "env":
        rank = int(_from_environment("RANK")) if rank == -1 else rank
        world_size = int(_from_environment("WORLD_SIZE")) if world_size == -1 else world_size
        _from_environment("MASTER_ADDR")
        int(_from_environment("MASTER_PORT"))
        return rank, world_size
    if url.scheme not in ("tcp", "file"):
        raise RuntimeError(
            f"init_process_group: processes cannot meet at {init_method!r}; there are env://, tcp:// and file://"
        )
    place = url.port if url.scheme == "tcp" else url.path
    for value, what in ((place, "place to meet"), (rank + 1, "rank"), (world_size + 1, "world size")):
        if not value:
            raise ValueError(f"init_process_group with {url.scheme}://: no {what} given")
    return rank, world_size


def init_process_group(
    backend=None,
    init_method=None,
    timeout=None,
    world_size=-1,
    rank=-1,
    store=None,
    group_name="",
    pg_options=None,
    device_id=None,
    _ranks=None,
):
    """Makes the group of all processes, which has to be one: NotImplementedError for a larger `world_size`.

    Rank and size are the arguments', or what the environment says with `init_method` 'env://', the default, or what
    stands in 'tcp://host:port?rank=0&world_size=1', or in 'file:///path?...'. ValueError where they are missing, and if
    there is a group; RuntimeError for a backend that is not there, AssertionError for one nobody knows.
    """
    if world.default is not None:
        raise ValueError("init_process_group: there is a process group already; destroy_process_group() ends it")
    if store is not None and init_method is not None:
        raise AssertionError("init_process_group: init_method and store exclude each other")
    if store is not None and (world_size < 1 or rank < 0):
        raise AssertionError("with a store, rank and world_size have to be given")
    backend = check_backend(backend)
    if store is None:
        rank, world_size = _rank_and_size(init_method or "env://", rank, world_size)
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} is outside of a world of {world_size} processes")
    if world_size > 1:
        raise NotImplementedError(
            f"a process group of {world_size} processes: minidynamo has groups of one; see torch.multiprocessing and "
            "Module.share_memory() for processes that train one model"
        )
    world.default = ProcessGroup(backend, group_name)


def destroy_process_group(group=None):
    """Ends a group; without an argument all of them. AssertionError if there is none."""
    if group is None or group is world.default:
        if world.default is None:
            raise AssertionError("destroy_process_group: there is no process group")
        world.default = None
        world.groups.clear()
        return
    world.groups.remove(member(group))


def new_group(
    ranks=None,
    timeout=None,
    backend=None,
    pg_options=None,
    use_local_synchronization=False,
    group_desc=None,
    device_id=None,
    sort_ranks=True,
):
    """A group of some of the processes: of the one there is. ValueError for ranks that are not there."""
    default = member(None)
    ranks = [0] if ranks is None else list(ranks)
    if len(ranks) > 1:
        raise ValueError(f"a new group of {len(ranks)} processes in a world of 1")
    if ranks != [0]:
        raise ValueError(f"ranks {ranks}: there is one process, of rank 0")
    made = ProcessGroup(default.backend if backend is None else check_backend(backend), group_desc or "")
    world.groups.append(made)
    return made


def get_rank(group=None):
    """0: there is one process. -1 for NON_GROUP_MEMBER; ValueError before init_process_group()."""
    return -1 if group == _group.GroupMember.NON_GROUP_MEMBER else member(group).rank()


def get_world_size(group=None):
    """1: there is one process. -1 for NON_GROUP_MEMBER; ValueError before init_process_group()."""
    return -1 if group == _group.GroupMember.NON_GROUP_MEMBER else member(group).size()


def get_backend(group=None):
    """The Backend that init_process_group() was given."""
    return Backend(member(group).backend)


def get_process_group_ranks(group):
    """[0]: the ranks of the processes of a group among all."""
    return list(range(member(group).size()))


def get_group_rank(group, global_rank):
    """The rank within a group of a process; ValueError if it is not in it."""
    if global_rank not in get_process_group_ranks(group):
        raise ValueError(f"Global rank {global_rank} is not part of the group, which has rank 0")
    return global_rank


def get_global_rank(group, group_rank):
    """The rank among all of a process of a group; ValueError if it is not in it."""
    if group_rank not in get_process_group_ranks(group):
        raise ValueError(f"Group rank {group_rank} is not part of the group, which has rank 0")
    return group_rank


def get_node_local_rank(fallback_rank=None):
    """LOCAL_RANK of the environment, or else `fallback_rank`. RuntimeError with neither."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment, and there is no fallback_rank")
    return int(fallback_rank)
