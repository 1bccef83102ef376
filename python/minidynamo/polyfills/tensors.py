"""torch.Tensor as a constructor of tensors."""

from .. import _C
from .._tensor_types import _made


def tensor(*args, device=None, **named):
    return _made(_C.get_default_dtype(), *args, device=device, **named)


TABLE = {_C.Tensor: tensor}
