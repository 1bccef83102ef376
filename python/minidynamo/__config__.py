"""torch.__config__: what this was built with, as text."""

import platform

from ._absent import absent_names as _absent_names


def show():
    """A few lines about the build, for reports of defects."""
    from . import __version__

    lines = [
        f"minidynamo {__version__}",
        f"CPython {platform.python_version()}",
        "LLVM",
        "OpenBLAS (LAPACK, on demand)",
    ]
    return "Built with:\n" + "".join(f"  - {line}\n" for line in lines)


def parallel_info():
    """How many threads compute."""
    from . import _C
    from .processor_settings import get_num_interop_threads

    return (
        f"ATen/Parallel:\n\tat::get_num_threads() : {_C.get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {get_num_interop_threads()}\n"
    )


__getattr__ = _absent_names(__name__)
