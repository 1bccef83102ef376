"""torch.hub of folders on this machine: what a `hubconf.py` offers. Nothing is downloaded."""

import importlib.util
import os
import sys
import warnings
from pathlib import Path

from ._absent import absent_names as _absent_names

try:
    from tqdm import tqdm
except ImportError:

    class tqdm:  # noqa: N801  the name of what it stands in for
        """Goes through what it is given, and counts in silence, where the tqdm package is not installed."""

        def __init__(self, iterable=None, total=None, disable=False, **options):
            self.iterable, self.total, self.disable, self.n = iterable, total, disable, 0

        def __iter__(self):
            for item in self.iterable:
                yield item
                self.update()

        def __len__(self):
            return self.total if self.iterable is None else len(self.iterable)

        def update(self, n=1):
            """`n` more are done."""
            self.n += n

        def __enter__(self):
            return self

        def __exit__(self, kind, value, traceback):
            self.close()

        def close(self):
            """Nothing is shown, so nothing has to be put away."""

        set_description = set_postfix = set_postfix_str = refresh = lambda self, *args, **kwargs: None


_folder = None


def get_dir():
    """Where downloads would lie: as set_dir() says, else $TORCH_HOME/hub or ~/.cache/torch/hub."""
    if _folder is not None:
        return _folder
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.join(os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))), "hub")


def set_dir(d):
    """Sets what get_dir() answers."""
    global _folder
    _folder = os.path.expanduser(d)


def _entries(folder, source):
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise RuntimeError(
            f"torch.hub: minidynamo downloads nothing. Fetch {folder!r} and pass its folder with source='local'."
        )
    path = Path(folder) / "hubconf.py"
    spec = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    missing = [name for name in getattr(module, "dependencies", ()) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(folder, model, source):
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(_entries(folder, source), model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def list(github, force_reload=False, skip_validation=False, trust_repo=None, verbose=True, source="github"):
    """Names of what `hubconf.py` of a folder offers (source="local"). RuntimeError for what would be downloaded."""
    offered = vars(_entries(github, source))
    return [name for name, value in offered.items() if callable(value) and not name.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo=None, source="github"):
    """The docstring of what the folder offers under that name."""
    return _entry(github, model, source).__doc__


def load(
    repo_or_dir,
    model,
    *args,
    source="github",
    trust_repo=None,
    force_reload=False,
    verbose=True,
    skip_validation=False,
    **kwargs,
):
    """What the folder offers under that name, called with the other arguments (source="local").

    Raises RuntimeError for what would be downloaded, for unknown names and for packages that are not installed.
    """
    return _entry(repo_or_dir, model, source)(*args, **kwargs)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """RuntimeError: minidynamo downloads nothing."""
    raise RuntimeError(f"torch.hub: minidynamo downloads nothing. Fetch {url} yourself and put it to {dst}.")


def load_state_dict_from_url(
    url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False
):
    """The file of that name, if it lies in `model_dir` (get_dir()/checkpoints); RuntimeError if it would be fetched."""
    from .serialization import load as load_file

    path = os.path.join(model_dir or os.path.join(get_dir(), "checkpoints"), file_name or os.path.basename(url))
    if not os.path.exists(path):
        raise RuntimeError(f"torch.hub: minidynamo downloads nothing. Fetch {url} yourself and put it to {path}.")
    if check_hash:
        warnings.warn("load_state_dict_from_url: minidynamo does not check the hash in the name", stacklevel=2)
    return load_file(path, map_location=map_location, weights_only=weights_only)


__getattr__ = _absent_names(__name__)
