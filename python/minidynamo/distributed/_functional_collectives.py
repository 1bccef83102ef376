"""Collectives that write nothing: each gives a tensor of its own, which wait_tensor() gives back. Traced in place.

A group is a ProcessGroup, a DeviceMesh of one dimension, (DeviceMesh, dimension) or a list of ranks, which is [0].
"""

from .. import _C
from .._absent import absent_names as _absent_names
from ._group import ProcessGroup, member
from ._mesh import DeviceMesh

_REDUCTIONS = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor")


def _check_group(group):
    if isinstance(group, DeviceMesh):
        group = group.get_group()
    elif isinstance(group, tuple) and group and isinstance(group[0], DeviceMesh):
        group = group[0].get_group(group[1])
    if isinstance(group, (list, tuple)):
        if list(group) not in ([0], [[0]]):
            raise ValueError(f"the ranks of a group of one process are [0], got {group}")
        return
    if not isinstance(group, ProcessGroup):
        raise ValueError(f"a group is a ProcessGroup, a DeviceMesh or a list of ranks, got {type(group).__name__}")
    member(group)


def _check_reduction(name):
    if name.lower() not in _REDUCTIONS:
        raise ValueError(f"the reductions are {', '.join(_REDUCTIONS)}, got {name!r}")


def _check_dim(tensor, dim):
    if not -tensor.dim() <= dim < tensor.dim():
        raise IndexError(f"a tensor of {tensor.dim()} dimensions has no dimension {dim}")


def wait_tensor(tensor):
    """The tensor: it is there already."""
    return tensor


def all_reduce(self, reduceOp, group, tag=""):
    """The reduction over the processes."""
    _check_group(group)
    _check_reduction(reduceOp)
    return self.clone()


def broadcast(self, src, group, tag=""):
    """What the process `src` has, which has to be 0."""
    _check_group(group)
    if src != 0:
        raise RuntimeError(f"there is no process {src}, only 0")
    return self.clone()


def all_gather_tensor(self, gather_dim, group, tag=""):
    """The tensors of all processes, one after the other."""
    _check_group(group)
    _check_dim(self, gather_dim)
    return self.clone(memory_format=_C.contiguous_format)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """The part of this process of the reduction."""
    _check_group(group)
    _check_reduction(reduceOp)
    _check_dim(self, scatter_dim)
    return self.clone(memory_format=_C.contiguous_format)


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """The parts the processes have for this one."""
    _check_group(group)
    for sizes in (output_split_sizes, input_split_sizes):
        if sizes is not None and list(sizes) != [self.shape[0]]:
            raise RuntimeError(f"split sizes {list(sizes)} for 1 process, of {self.shape[0]} rows")
    return self.clone(memory_format=_C.contiguous_format)


def all_reduce_coalesced(self, reduceOp, group, tag=""):
    """all_reduce() of each tensor of a list."""
    found = []
    for tensor in self:
        found.append(all_reduce(tensor, reduceOp, group, tag))
    return found


def all_gather_into_tensor_coalesced(self, group, tag=""):
    """all_gather_tensor() of each tensor of a list."""
    found = []
    for tensor in self:
        found.append(all_gather_tensor(tensor, 0, group, tag))
    return found


def reduce_scatter_tensor_coalesced(inputs, reduceOp, scatter_dim, group, tag=""):
    """reduce_scatter_tensor() of each tensor of a list."""
    found = []
    for tensor, dim in zip(inputs, scatter_dim):
        found.append(reduce_scatter_tensor(tensor, reduceOp, dim, group, tag))
    return found


for _function in (
    wait_tensor, all_reduce, broadcast, all_gather_tensor, reduce_scatter_tensor, all_to_all_single,
    all_reduce_coalesced, all_gather_into_tensor_coalesced, reduce_scatter_tensor_coalesced, _check_group,
    _check_reduction, _check_dim, member,
):  # fmt: skip
    _C._mark_callable(_function, "dont_skip")

__getattr__ = _absent_names(__name__)
