"""Which CUDA device an argument means."""

from .. import _C

_runtime = _C._cuda


def index_of(device, named=False):
    """The ordinal of an int, text or device; the current one's for None, and unless `named` for "cuda"."""
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    if device is None:
        return _runtime.current_device()
    if not isinstance(device, (str, _C.device)) and not hasattr(device, "__index__"):
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device!r}")
    found = _C.device(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    if found.index is None and named:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{found}")
    return _runtime.current_device() if found.index is None else found.index
