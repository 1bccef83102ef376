"""torch.utils.data.distributed: the share of a dataset that one of several processes reads."""

from ... import _C
from ..._absent import absent_names as _absent_names
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Indices rank, rank + num_replicas, ... of an order that `seed` and the epoch decide, equal on all processes.

    All shares have the same length: some samples come twice, or with `drop_last` up to num_replicas - 1 not at all.
    `num_replicas` and `rank` default to those of torch.distributed's process group. ValueError where there is none, and
    for a rank outside [0, num_replicas).
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        from ... import distributed

        num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
        rank = distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"rank {rank} is outside [0, {num_replicas})")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else -(-n // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        n = len(self.dataset)
        order = list(range(n))
        if self.shuffle:
            generator = _C.Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = _C.randperm(n, generator=generator).tolist()
        if order and self.total_size > n:
            order = (order * -(-self.total_size // n))[: self.total_size]  # from the start again
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Another order from the next iteration on; without it every epoch has the same."""
        self.epoch = epoch


__getattr__ = _absent_names(__name__)
