"""Functions that run before and after a module's `forward`."""

from itertools import count

_ids = count()


class RemovableHandle:
    """What registering a hook gives; `remove()`, or leaving a `with` block, takes the hook away."""

    def __init__(self, table, key):
        self._table = table
        self.id = key

    def remove(self):
        self._table.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def _register(table, entry, prepend):
    key = next(_ids)
    others = list(table.items()) if prepend else []
    if prepend:
        table.clear()
    table[key] = entry
    table.update(others)
    return RemovableHandle(table, key)


class Hooks:
    """The part of Module that knows hooks. Tables map an id to (hook, takes keyword arguments, runs after errors)."""

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """`hook(module, args)` may give other arguments; with keywords `hook(module, args, kwargs)` a pair of both."""
        return _register(self._forward_pre_hooks, (hook, with_kwargs, False), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """`hook(module, args, output)`, with keywords `hook(module, args, kwargs, output)`, may give another output.

        `always_call` runs it after an exception too.
        """
        return _register(self._forward_hooks, (hook, with_kwargs, always_call), prepend)

    def _call_with_hooks(self, args, kwargs):
        called = set()
        try:
            args, kwargs = self._run_pre_hooks(args, kwargs)
            result = self.forward(*args, **kwargs)
            for key, (hook, with_kwargs, always) in list(self._forward_hooks.items()):
                if always:
                    called.add(key)
                changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                if changed is not None:
                    result = changed
            return result
        except Exception:
            self._run_remaining_hooks(called, args, kwargs)
            raise

    def _run_pre_hooks(self, args, kwargs):
        for hook, with_kwargs, _ in list(self._forward_pre_hooks.values()):
            if with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _run_remaining_hooks(self, called, args, kwargs):
        import warnings

        for key, (hook, with_kwargs, always) in list(self._forward_hooks.items()):
            if not always or key in called:
                continue
            try:
                _ = hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
            except Exception as error:  # noqa: BLE001  the exception on its way is the one to tell
                warnings.warn(
                    f"module forward hook with ``always_call=True`` raised an exception that was silenced: {error}",
                    stacklevel=2,
                )
