"""Functions that run around a module's `forward`, and on the way back."""

import warnings
from itertools import count

_ids = count()
# Tables of every module. Those around calls map an id to (hook, takes keyword arguments, runs after errors).
CALL_TABLES = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
HOOK_TABLES = (
    *CALL_TABLES,
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
global_hooks = {}  # id: (kind, hook, takes keyword arguments, runs after errors), called for all modules


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


def _global(kind):
    return [(key, entry[1:]) for key, entry in global_hooks.items() if entry[0] == kind] if global_hooks else []


def _of(table, kind):
    """[(id, entry)], hooks of all modules first."""
    return [*_global(kind), *table.items()]


class Hooks:
    """The part of Module that knows hooks around calls."""

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """`hook(module, args)` may give other arguments; with keywords `hook(module, args, kwargs)` a pair of both."""
        return _register(self._forward_pre_hooks, (hook, with_kwargs, False), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """`hook(module, args, output)`, with keywords `hook(module, args, kwargs, output)`, may give another output.

        `always_call` runs it after an exception too.
        """
        return _register(self._forward_hooks, (hook, with_kwargs, always_call), prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """`hook(module, grad_input, grad_output)` runs when the gradients of the inputs are there, and may give others.

        Both are tuples: one entry for each positional argument, and for each result; None for what is no tensor. Where
        no input requires grad it runs when the gradients of the results are there, and a warning says so.
        """
        return _register(self._backward_hooks, (hook, False, False), prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """`hook(module, grad_output)` runs before the module's backward pass, and may give another tuple."""
        return _register(self._backward_pre_hooks, (hook, False, False), prepend)

    def register_backward_hook(self, hook):
        """Not there: such a hook sees the gradients of the module's last operation only. NotImplementedError."""
        raise NotImplementedError(
            "register_backward_hook() would give the gradients of the last operation in place of the module's: use "
            "register_full_backward_hook()"
        )

    def _call_with_hooks(self, args, kwargs):
        if not any(always for _, (_, _, always) in _of(self._forward_hooks, "forward")):
            return self._call_between_hooks([args, kwargs], set())
        given, called = [args, kwargs], set()
        try:
            return self._call_between_hooks(given, called)
        except Exception:
            self._run_remaining_hooks(called, *given)
            raise

    def _call_between_hooks(self, given, called):
        """The result for [args, kwargs], which become what the hooks before made of them; ids of hooks that run after
        errors too and have run go into `called`."""
        given[:] = args, kwargs = self._run_pre_hooks(*given)
        backward = [hook for _, (hook, _, _) in _of(self._backward_hooks, "backward")]
        before = [hook for _, (hook, _, _) in _of(self._backward_pre_hooks, "backward_pre")]
        gates = None
        if backward or before:
            from .backward_hooks import enter_module, leave_module

            gates, args = enter_module(self, backward, before, args)
        result = self.forward(*args, **kwargs)
        for key, (hook, with_kwargs, always) in _of(self._forward_hooks, "forward"):
            if always:
                called.add(key)
            changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            if changed is not None:
                result = changed
        return result if gates is None else leave_module(gates, result)

    def _run_pre_hooks(self, args, kwargs):
        for _, (hook, with_kwargs, _) in _of(self._forward_pre_hooks, "forward_pre"):
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
        for key, (hook, with_kwargs, always) in _of(self._forward_hooks, "forward"):
            if not always or key in called:
                continue
            try:
                _ = hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
            except Exception as error:  # noqa: BLE001  the exception on its way is the one to tell
                warnings.warn(
                    f"module forward hook with ``always_call=True`` raised an exception that was silenced: {error}",
                    stacklevel=2,
                )


def register_module_forward_pre_hook(hook):
    """`hook(module, args)` before the forward of every module there is; it may give other arguments."""
    return _register(global_hooks, ("forward_pre", hook, False, False), False)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """`hook(module, args, output)` after the forward of every module there is; it may give another output."""
    return _register(global_hooks, ("forward", hook, with_kwargs, always_call), False)


def register_module_full_backward_hook(hook):
    """Module.register_full_backward_hook for every module there is."""
    return _register(global_hooks, ("backward", hook, False, False), False)


def register_module_full_backward_pre_hook(hook):
    """Module.register_full_backward_pre_hook for every module there is."""
    return _register(global_hooks, ("backward_pre", hook, False, False), False)
