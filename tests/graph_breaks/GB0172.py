"""A sum over all processes is begun and waited for later."""

CODE = "GB0172"
import torch


def run(compile):
    dist = torch.distributed

    @compile
    def total(x):
        y = x + 1
        handle = dist.all_reduce(y, async_op=True)
        handle.wait()
        return y

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        return total(torch.ones(2))
    finally:
        dist.destroy_process_group()


def fix(compile):
    dist = torch.distributed

    @compile
    def total(x):
        y = x + 1
        dist.all_reduce(y)
        return y

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        return total(torch.ones(2))
    finally:
        dist.destroy_process_group()
