"""torch.distributed for a program that runs as one process: groups of one, whose operations are the identity."""

from .._absent import absent_names as _absent_names
from ._collectives import all_gather as all_gather
from ._collectives import all_gather_into_tensor as all_gather_into_tensor
from ._collectives import all_gather_object as all_gather_object
from ._collectives import all_reduce as all_reduce
from ._collectives import all_to_all as all_to_all
from ._collectives import all_to_all_single as all_to_all_single
from ._collectives import barrier as barrier
from ._collectives import broadcast as broadcast
from ._collectives import broadcast_object_list as broadcast_object_list
from ._collectives import gather as gather
from ._collectives import gather_object as gather_object
from ._collectives import irecv as irecv
from ._collectives import isend as isend
from ._collectives import monitored_barrier as monitored_barrier
from ._collectives import recv as recv
from ._collectives import reduce as reduce
from ._collectives import reduce_scatter as reduce_scatter
from ._collectives import reduce_scatter_tensor as reduce_scatter_tensor
from ._collectives import scatter as scatter
from ._collectives import scatter_object_list as scatter_object_list
from ._collectives import send as send
from ._group import Backend as Backend
from ._group import DistBackendError as DistBackendError
from ._group import DistError as DistError
from ._group import DistNetworkError as DistNetworkError
from ._group import DistStoreError as DistStoreError
from ._group import GroupMember as GroupMember
from ._group import ProcessGroup as ProcessGroup
from ._group import RedOpType as RedOpType
from ._group import ReduceOp as ReduceOp
from ._group import Work as Work
from ._group import default_pg_timeout as default_pg_timeout
from ._group import group as group
from ._mesh import DeviceMesh as DeviceMesh
from ._mesh import init_device_mesh as init_device_mesh
from ._more_groups import DebugLevel as DebugLevel
from ._more_groups import P2POp as P2POp
from ._more_groups import all_gather_coalesced as all_gather_coalesced
from ._more_groups import all_reduce_coalesced as all_reduce_coalesced
from ._more_groups import batch_isend_irecv as batch_isend_irecv
from ._more_groups import get_debug_level as get_debug_level
from ._more_groups import new_subgroups as new_subgroups
from ._more_groups import new_subgroups_by_enumeration as new_subgroups_by_enumeration
from ._more_groups import set_debug_level as set_debug_level
from ._more_groups import set_debug_level_from_env as set_debug_level_from_env
from ._more_groups import supports_complex as supports_complex
from ._setup import destroy_process_group as destroy_process_group
from ._setup import get_backend as get_backend
from ._setup import get_default_backend_for_device as get_default_backend_for_device
from ._setup import get_global_rank as get_global_rank
from ._setup import get_group_rank as get_group_rank
from ._setup import get_node_local_rank as get_node_local_rank
from ._setup import get_process_group_ranks as get_process_group_ranks
from ._setup import get_rank as get_rank
from ._setup import get_world_size as get_world_size
from ._setup import init_process_group as init_process_group
from ._setup import is_available as is_available
from ._setup import is_backend_available as is_backend_available
from ._setup import is_gloo_available as is_gloo_available
from ._setup import is_initialized as is_initialized
from ._setup import is_mpi_available as is_mpi_available
from ._setup import is_nccl_available as is_nccl_available
from ._setup import is_torchelastic_launched as is_torchelastic_launched
from ._setup import is_ucc_available as is_ucc_available
from ._setup import is_xccl_available as is_xccl_available
from ._setup import new_group as new_group
from ._store import FileStore as FileStore
from ._store import HashStore as HashStore
from ._store import PrefixStore as PrefixStore
from ._store import Store as Store
from ._store import TCPStore as TCPStore


def _load(name, missing):
    from importlib import import_module

    known = ("_functional_collectives", "device_mesh")
    return import_module(f"{__name__}.{name}") if name in known else missing


__getattr__ = _absent_names(__name__, _load)
