"""torch.backends.cuda: what products on GPUs may do; other settings hold what they are set to."""

import contextlib

from ..._absent import absent_names as _absent_names
from ..._no_device import is_present as _is_present
from .. import _matmul, _settings
from .._settings import Setting as _Setting


def is_built():
    """Whether there are CUDA devices: what they need is in every build."""
    return _is_present()


def _reduction(value, name):
    parts = value if isinstance(value, (tuple, list)) else (value,)
    if not all(isinstance(part, bool) for part in parts):
        raise TypeError(f"{name} is a bool or a tuple of bools, got {type(value)}")
    if len(parts) == 2 and parts[0] and not parts[1]:
        raise RuntimeError(f"{name}: (True, False) is not supported: reduced sums come with split ones")


class cuBLASModule:
    """Settings of products of matrices: `torch.backends.cuda.matmul`."""

    allow_fp16_reduced_precision_reduction = _Setting(True, _reduction, freezes=False)
    allow_bf16_reduced_precision_reduction = _Setting(True, _reduction, freezes=False)
    allow_fp16_accumulation = _Setting(False, _settings.is_bool, freezes=False)

    @property
    def allow_tf32(self):
        """Whether float32 products are computed in tf32 on a device that has it."""
        return _matmul.allows_tf32()

    @allow_tf32.setter
    def allow_tf32(self, value):
        _settings.is_bool(value, "allow_tf32")
        _matmul.set_cuda_precision("tf32" if value else "ieee")

    @property
    def fp32_precision(self):
        """'none', 'ieee' or 'tf32'."""
        return _matmul.cuda_precision

    @fp32_precision.setter
    def fp32_precision(self, value):
        _matmul.set_cuda_precision(value)

    @property
    def fold_order(self):
        """'defined', the bits of the CPU, or 'any': float16 and bfloat16 are multiplied on tensor cores."""
        return _matmul.fold_order

    @fold_order.setter
    def fold_order(self, value):
        _matmul.set_fold_order(value)

    def __getattr__(self, name):
        raise AttributeError(f"torch.backends.cuda.matmul has no setting {name!r}")

    def __setattr__(self, name, value):
        if not hasattr(type(self), name) and not name.startswith("_setting_"):  # where those keep their values
            raise AttributeError(f"torch.backends.cuda.matmul has no setting {name!r}")
        super().__setattr__(name, value)


matmul = cuBLASModule()


class cuFFTPlanCacheManager:
    """`torch.backends.cuda.cufft_plan_cache`: plans of no device."""

    def __getitem__(self, device):
        raise RuntimeError(f"cufft_plan_cache: there are 0 CUDA devices, none of index {device}")

    def __getattr__(self, name):
        from ..._no_device import refuse

        refuse("CUDA")


cufft_plan_cache = cuFFTPlanCacheManager()
# Which ways to compute attention may be chosen on a CUDA device.
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "reduction": False}


def _set_sdp(name, enabled):
    _settings.is_bool(enabled, f"the setting {name} of attention")
    _sdp[name] = enabled


def flash_sdp_enabled():
    """What enable_flash_sdp set."""
    return _sdp["flash"]


def enable_flash_sdp(enabled):
    """Holds the setting; attention on the CPU does not choose by it."""
    _set_sdp("flash", enabled)


def mem_efficient_sdp_enabled():
    """What enable_mem_efficient_sdp set."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled):
    """Holds the setting; attention on the CPU does not choose by it."""
    _set_sdp("mem_efficient", enabled)


def math_sdp_enabled():
    """What enable_math_sdp set."""
    return _sdp["math"]


def enable_math_sdp(enabled):
    """Holds the setting; attention on the CPU does not choose by it."""
    _set_sdp("math", enabled)


def cudnn_sdp_enabled():
    """What enable_cudnn_sdp set."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled):
    """Holds the setting; attention on the CPU does not choose by it."""
    _set_sdp("cudnn", enabled)


def fp16_bf16_reduction_math_sdp_allowed():
    """What allow_fp16_bf16_reduction_math_sdp set."""
    return _sdp["reduction"]


def allow_fp16_bf16_reduction_math_sdp(enabled):
    """Holds the setting."""
    _set_sdp("reduction", enabled)


def is_flash_attention_available():
    """False: there is no CUDA device."""
    return False


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """The settings of attention within a block."""
    before = dict(_sdp)
    try:
        enable_flash_sdp(enable_flash)
        enable_math_sdp(enable_math)
        enable_mem_efficient_sdp(enable_mem_efficient)
        enable_cudnn_sdp(enable_cudnn)
        yield
    finally:
        _sdp.update(before)


__getattr__ = _absent_names(__name__)
