"""patch_dynamo_config(): settings for what is compiled within, which compiled code traces as well."""

import functools

from . import config

_ALLOWED = (
    "verbose", "verify_correctness", "rewrite_assert_with_torch_assert", "capture_scalar_outputs",
    "allow_unspec_int_on_nn_module", "dont_skip_tracing", "nested_graph_breaks",
)  # fmt: skip


def _use(changes):
    """Sets entries in this context; gives what they were, to be set again. A trace changes its own settings instead."""
    return config.use_here(changes)


class DynamoConfigPatch:
    """Context manager and decorator."""

    def __init__(self, changes):
        self.changes = changes
        self.before = ()

    def __enter__(self):
        self.before = _use(self.changes)

    def __exit__(self, *error):
        _use(self.before)
        return False

    def __call__(self, function):
        changes = self.changes

        @functools.wraps(function)
        def patched(*args, **kwargs):
            before = _use(changes)
            try:
                return function(*args, **kwargs)
            finally:
                _use(before)

        return patched


def patch_dynamo_config(arg1=None, arg2=None, **kwargs):
    """Within the block, or the function it decorates, entries of `torch._dynamo.config` have these values, for traces
    under way as well: `patch_dynamo_config("x", 1)`, `patch_dynamo_config({"x": 1})` or `patch_dynamo_config(x=1)`."""
    if arg1 is not None and kwargs:
        raise AssertionError("patch_dynamo_config() takes either one entry or a dict, or keywords, not both")
    if isinstance(arg1, dict):
        changes = arg1
    elif arg1 is not None:
        changes = {arg1: arg2}
    else:
        changes = kwargs
    for name, value in changes.items():
        if name not in _ALLOWED:
            raise ValueError(
                f"patch_dynamo_config() cannot change the setting {name} within code that may be traced; these can be "
                f"changed: {', '.join(_ALLOWED)}"
            )
        if not isinstance(value, (bool, int, float, str, type(None))):
            raise ValueError(f"patch_dynamo_config() takes constants, and {name}={value!r} is none")
    return DynamoConfigPatch(tuple(changes.items()))
