"""A list that a class keeps under the name of a method of tensors is read by getattr()."""

CODE = "GB0164"
import torch


class Named(torch.Tensor):
    names = ["row"]
    unbind = [1.0, 2.0]


def run(compile):
    return compile(lambda x: x * x.unbind[1])(torch.ones(2).as_subclass(Named)).tolist()
