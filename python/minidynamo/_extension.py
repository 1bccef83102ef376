"""What is said where the extension module cannot be imported: mostly to who has just checked the sources out."""

import importlib.machinery
import pathlib
import sys


def explained(error):
    """The ImportError of `_C`, with a way out if there is none for this Python; the error itself if there is one."""
    folder = pathlib.Path(__file__).parent
    if any((folder / f"_C{ending}").exists() for ending in importlib.machinery.EXTENSION_SUFFIXES):
        return error
    built = sorted(path.name for path in folder.glob("_C.*.so"))
    there = f"; there is {', '.join(built)}" if built else ""
    return ImportError(
        f"minidynamo's extension is not built for this Python {sys.version_info[0]}.{sys.version_info[1]}{there}. In a "
        "checkout `make build` builds it for .venv/bin/python; `pip install .` builds and installs the package."
    )
