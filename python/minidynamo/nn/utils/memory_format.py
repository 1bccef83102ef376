"""Memory formats of the weights of convolutions."""

from ..._absent import absent_names as _absent_names
from ..convolution import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d


def _convert(module, memory_format, kinds):
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Lays the weights of all Conv2d and ConvTranspose2d in `module` out in the memory format; gives the module."""
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Lays the weights of all Conv3d and ConvTranspose3d in `module` out in the memory format; gives the module."""
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


__getattr__ = _absent_names(__name__)
