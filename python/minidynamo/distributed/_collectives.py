"""all_reduce and its kin in a group of one process: what others would send is what this one gives."""

from .. import _C
from ..autograd.grad_mode import no_grad
from ._group import RedOpType, ReduceOp, Work, member

_OF_BITS = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def _check_tensor(tensor, name):
    if not isinstance(tensor, _C.Tensor):
        raise TypeError(f"{name}: a Tensor is needed, got {type(tensor).__name__}")


def _check_list(tensors, name, like=None):
    """A list of as many tensors as there are processes, one."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}: a list of Tensors is needed")
    for tensor in tensors:
        if not isinstance(tensor, _C.Tensor):
            raise TypeError(f"{name}: a list of Tensors is needed")
    if len(tensors) != 1:
        raise RuntimeError(f"{name}: one tensor for each of 1 processes is needed, got {len(tensors)}")
    if like is not None:
        _check_alike(tensors[0], like, name)


def _check_alike(tensor, like, name):
    if tensor.dtype != like.dtype:
        raise ValueError(f"{name}: tensors of one dtype are needed, got {tensor.dtype} and {like.dtype}")
    if tensor.shape != like.shape:
        raise RuntimeError(f"{name}: tensors of sizes {tuple(like.shape)} are needed, got {tuple(tensor.shape)}")


def _check_op(op, tensor):
    if not isinstance(op, RedOpType):
        raise TypeError(f"op: a ReduceOp is needed, as ReduceOp.SUM, got {op!r}")
    if op in _OF_BITS and (tensor.is_floating_point() or tensor.is_complex()):
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype {tensor.dtype}")


def _check_rank(rank, group_rank, what):
    """The process named by its rank among all or within the group has to be there: rank 0."""
    if rank is None and group_rank is None:
        raise ValueError(f"{what}: the rank of a process is needed")
    if rank is not None and group_rank is not None:
        raise ValueError(f"{what}: one rank, among all or within the group, got both")
    rank = group_rank if rank is None else rank
    if rank != 0:
        raise RuntimeError(f"{what}: invalid root rank: {rank}; there is one process, of rank 0")


def _ended(async_op, *written):
    return Work(written) if async_op else None


def _copy(into, source):
    with no_grad():
        into.copy_(source)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Nothing: no other process is to be waited for."""
    member(group)
    return _ended(async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Nothing: no other process is to be waited for."""
    member(group)


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Leaves the tensor as it is: the sum, mean, ... over one process."""
    _check_tensor(tensor, "tensor")
    member(group)
    _check_op(op, tensor)
    return _ended(async_op, tensor)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """As all_reduce; `dst` has to be 0."""
    _check_tensor(tensor, "tensor")
    member(group)
    _check_rank(dst, group_dst, "reduce")
    _check_op(op, tensor)
    return _ended(async_op, tensor)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Leaves the tensor as it is; `src` has to be 0."""
    _check_tensor(tensor, "tensor")
    member(group)
    _check_rank(src, group_src, "broadcast")
    return _ended(async_op, tensor)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Copies the tensor to the one of the list, of the same sizes and dtype."""
    _check_tensor(tensor, "tensor")
    member(group)
    _check_list(tensor_list, "tensor_list", tensor)
    _copy(tensor_list[0], tensor)
    return _ended(async_op, *tensor_list)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Copies the input to the output, of the same sizes and dtype."""
    _check_tensor(output_tensor, "output_tensor")
    _check_tensor(input_tensor, "input_tensor")
    member(group)
    _check_alike(output_tensor, input_tensor, "output_tensor")
    _copy(output_tensor, input_tensor)
    return _ended(async_op, output_tensor)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """As all_gather; `dst` has to be 0."""
    _check_tensor(tensor, "tensor")
    member(group)
    _check_rank(0 if dst is None and group_dst is None else dst, group_dst, "gather")
    if gather_list is None:
        raise ValueError("gather: `gather_list` must be specified on the destination rank")
    return all_gather(gather_list, tensor, group, async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Copies the one of the list to the tensor, of the same sizes and dtype; `src` has to be 0."""
    _check_tensor(tensor, "tensor")
    member(group)
    _check_rank(0 if src is None and group_src is None else src, group_src, "scatter")
    if scatter_list is None:
        raise ValueError("scatter: `scatter_list` must be specified on the source rank")
    _check_list(scatter_list, "scatter_list", tensor)
    _copy(tensor, scatter_list[0])
    return _ended(async_op, tensor)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Copies the one of the list to the output, of the same sizes and dtype."""
    _check_tensor(output, "output")
    _check_op(op, output)
    return scatter(output, input_list, 0, group, async_op)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Copies the input to the output, of the same sizes and dtype."""
    _check_tensor(output, "output")
    _check_op(op, output)
    return all_gather_into_tensor(output, input, group, async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Copies the tensor of the one list to that of the other, of the same sizes and dtype."""
    member(group)
    _check_list(input_tensor_list, "input_tensor_list")
    return all_gather(output_tensor_list, input_tensor_list[0], group, async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Copies the input to the output, of the same sizes and dtype; split sizes are those of one part."""
    for sizes, tensor in ((output_split_sizes, output), (input_split_sizes, input)):
        _check_tensor(tensor, "output and input")
        if sizes and list(sizes) != [tensor.size(0)]:
            raise RuntimeError(f"all_to_all_single: split sizes {list(sizes)} for 1 process, of {tensor.size(0)} rows")
    return all_gather_into_tensor(output, input, group, async_op)


def _no_other(rank, group_rank, verb):
    given = group_rank if rank is None else rank
    if given == 0:
        raise ValueError(f"Invalid rank: a process cannot {verb} itself")
    raise RuntimeError(f"there is no process {given} to {verb}: the group has one, of rank 0")


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """ValueError for this process itself, RuntimeError for others: there are none."""
    _check_tensor(tensor, "tensor")
    member(group)
    _no_other(dst, group_dst, "send to")


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """ValueError for this process itself, RuntimeError for others: there are none."""
    _check_tensor(tensor, "tensor")
    member(group)
    _no_other(src, group_src, "receive from")


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """As send."""
    send(tensor, dst, group, tag, group_dst)


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """As recv."""
    recv(tensor, src, group, tag, group_src)


def _check_objects(objects, name):
    if len(objects) != 1:
        raise ValueError(f"{name}: one entry for each of 1 processes is needed, got {len(objects)}")


def _copied(obj):
    """As it would arrive: it has to be something that can be pickled."""
    import pickle

    return pickle.loads(pickle.dumps(obj))


def all_gather_object(object_list, obj, group=None):
    """Puts a copy of the object, by pickle, into the list, which has one entry."""
    member(group)
    _check_objects(object_list, "object_list")
    object_list[0] = _copied(obj)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """As all_gather_object; `dst` has to be 0."""
    member(group)
    _check_rank(0 if dst is None and group_dst is None else dst, group_dst, "gather_object")
    if object_gather_list is None:
        raise ValueError("gather_object: `object_gather_list` must be specified on the destination rank")
    all_gather_object(object_gather_list, obj, group)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Leaves the list as it is; `src` has to be 0."""
    member(group)
    _check_rank(src, group_src, "broadcast_object_list")
    object_list[:] = [_copied(obj) for obj in object_list]


def scatter_object_list(
    scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None
):
    """Puts a copy of the one of the second list, by pickle, into the first; `src` has to be 0."""
    member(group)
    _check_rank(0 if src is None and group_src is None else src, group_src, "scatter_object_list")
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("scatter_object_output_list: a list with at least one entry is needed")
    if scatter_object_input_list is None:
        raise ValueError("scatter_object_list: `scatter_object_input_list` must be specified on the source rank")
    _check_objects(scatter_object_input_list, "scatter_object_input_list")
    scatter_object_output_list[0] = _copied(scatter_object_input_list[0])


# What writes to tensors only is traced in place; other collectives break the graph.
for _function in (
    all_reduce, all_gather, all_gather_into_tensor, reduce_scatter_tensor, all_to_all_single, _check_tensor,
    _check_list, _check_alike, _check_op, _ended, _copy, member,
):  # fmt: skip
    _C._mark_callable(_function, "dont_skip")
