"""Parts of graphs that are about symbolic sizes."""

from ..._absent import absent_names as _absent_names

__getattr__ = _absent_names(__name__)
