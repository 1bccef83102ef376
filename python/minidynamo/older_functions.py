"""Functions of torch's own namespace that others have taken the place of."""

import warnings

from . import _C
from ._absent import absent_names as _absent_names


def range(start, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):  # noqa: A001
    """Numbers from `start` (0 where one number is given) to `end`, which counts, `step` apart: as arange(), older.

    The dtype is the default one for floats, whatever the numbers are. RuntimeError for a step of 0 or away from `end`.
    """
    warnings.warn("torch.range leaves `end` in, unlike range() of Python: use torch.arange", UserWarning, stacklevel=2)
    start, end = (0, start) if end is None else (start, end)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) / step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    dtype = _C.get_default_dtype() if dtype is None else dtype
    numbers = start + _C.arange(int((end - start) / step) + 1, dtype=_C.float64, device=device) * step
    numbers = numbers.to(dtype).requires_grad_(requires_grad)
    return numbers if out is None else out.resize_(numbers.shape).copy_(numbers)


__getattr__ = _absent_names(__name__)
