"""Settings of the processor that torch has in its own namespace, and facts about them."""

from ._absent import absent_names as _absent_names


def get_num_interop_threads():
    """1: operations do not run beside each other; see torch.get_num_threads() for the threads of one."""
    return 1


def set_num_interop_threads(number):
    """Only 1 can be had. NotImplementedError for more, TypeError for what is no int, RuntimeError below 1."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"set_num_interop_threads(): expected an int, but got {type(number).__name__}")
    if number < 1:
        raise RuntimeError("set_num_interop_threads(): expected a positive number of threads")
    if number > 1:
        raise NotImplementedError(
            "operations do not run beside each other here; set_num_threads() is for one operation"
        )


def set_flush_denormal(mode):
    """Whether that could be set, as in torch: False for `mode` True, for denormal numbers are kept."""
    if not isinstance(mode, bool):
        raise TypeError(f"set_flush_denormal(): expected a bool, but got {type(mode).__name__}")
    return not mode


__getattr__ = _absent_names(__name__)
