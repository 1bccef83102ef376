"""Groups made of groups, how much is said, operations on lists: for one process."""

import enum

from ._collectives import all_gather, all_reduce, isend
from ._group import GroupMember, ReduceOp, Work, member
from ._setup import new_group


class DebugLevel(enum.Enum):
    """How much is checked and said."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level = DebugLevel.OFF


def get_debug_level():
    """What set_debug_level() was called with last."""
    return _level


def set_debug_level(level):
    """Holds the setting: there is nothing between processes to check."""
    global _level
    if not isinstance(level, DebugLevel):
        raise TypeError(f"set_debug_level() takes a DebugLevel, got {level!r}")
    _level = level


def set_debug_level_from_env():
    """The setting of TORCH_DISTRIBUTED_DEBUG. RuntimeError for other words than OFF, INFO and DETAIL."""
    import os

    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(f"TORCH_DISTRIBUTED_DEBUG is one of OFF, INFO and DETAIL, not {name}")
    set_debug_level(DebugLevel[name])


def supports_complex(reduceOp):
    """Whether complex tensors can be reduced by it."""
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """(the group of this process, all groups) of `group_size` processes each: 1."""
    member(group)
    if group_size not in (None, 1):
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size (1)")
    made = new_group([0], timeout=timeout, backend=backend)
    return made, [made]


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None):
    """The same, by their ranks."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    groups = [new_group(ranks, timeout=timeout, backend=backend) for ranks in ranks_per_subgroup_list]
    mine = [group for group, ranks in zip(groups, ranks_per_subgroup_list) if 0 in ranks]
    if len(mine) > 1:
        raise ValueError("rank 0 has already belonged to another subgroup")
    return mine[0] if mine else GroupMember.NON_GROUP_MEMBER, groups


class P2POp:
    """An operation for batch_isend_irecv(): isend or irecv, a tensor, and the other process."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        from ._collectives import irecv

        if op not in (isend, irecv):
            raise ValueError("op must be one of torch.distributed.isend and torch.distributed.irecv")
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag
        self.group_peer = group_peer


def batch_isend_irecv(p2p_op_list):
    """The operations, in turn: with one process each raises, as isend() and irecv() do."""
    if not p2p_op_list or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError("a list of P2POp is needed, with at least one entry")
    return [p.op(p.tensor, p.peer, p.group, p.tag, group_dst=p.group_peer) for p in p2p_op_list]


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """all_reduce() of each tensor."""
    for tensor in [tensors] if hasattr(tensors, "dim") else tensors:
        all_reduce(tensor, op, group)
    return Work(tensors) if async_op else None


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """all_gather() of each tensor."""
    for outputs, tensor in zip(output_tensor_lists[0], input_tensor_list):
        all_gather([outputs], tensor, group)
    return Work(output_tensor_lists[0]) if async_op else None
