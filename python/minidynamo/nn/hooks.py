"""Functions that run around a module's `forward`, and on the way back."""

import warnings
from itertools import count

_ids = count()
# Tables of every module, from an id to a hook; beside them, by the same ids, which hooks take keyword arguments, ...
CALL_TABLES = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
CALL_FACTS = ("_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks_with_kwargs")
HOOK_TABLES = (
    *CALL_TABLES,
    *CALL_FACTS,
    "_state_dict_hooks",
    "_state_dict_hooks_in_place",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks_with_module",
    "_load_state_dict_post_hooks",
)
global_hooks = {}  # id: (kind, hook, takes keyword arguments, runs after errors), called for all modules


class RemovableHandle:
    """What registering a hook gives; `remove()`, or leaving a `with` block, takes the hook away.

    Made for a table, and one more or several (`extra_dict`), it has an `id` of its own: the key for a hook there.
    """

    def __init__(self, hooks_dict, *, extra_dict=None):
        self._tables = (hooks_dict, *(extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict]))
        self.id = next(_ids)

    def remove(self):
        for table in self._tables:
            if table is not None:
                table.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def _register(table, entry, prepend, facts=()):
    """Enters a hook, and its id in those tables of `facts`, pairs of a table and whether it applies, that apply."""
    handle = RemovableHandle(table, extra_dict=[fact for fact, _ in facts])
    others = list(table.items()) if prepend else []
    if prepend:
        table.clear()
    table[handle.id] = entry
    table.update(others)
    for fact, applies in facts:
        if applies:
            fact[handle.id] = True
    return handle


def _global(kind):
    return [(key, entry[1:]) for key, entry in global_hooks.items() if entry[0] == kind] if global_hooks else []


def _enter_with_backward_hooks(module, backward, before, args):
    """Gates around a call of `module`, and its arguments behind them. In a trace the graph breaks here."""
    from .backward_hooks import enter_module

    return enter_module(module, backward, before, args)


def _noted_hook(hook):
    """Traced in place of register_hook() and its kin: a handle whose hook is registered when the graph has run."""
    handle = RemovableHandle.__new__(RemovableHandle)
    handle.id = None
    handle._tables = ({None: hook},)
    return handle


def _register_noted(handle, register):
    """Makes it the handle of a real hook, unless the traced program has removed it."""
    for hook in handle._tables[0].values():
        real = register(hook)
        handle.id, handle._tables = real.id, real._tables


class Hooks:
    """The part of Module that knows hooks around calls."""

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """`hook(module, args)` may give other arguments; with keywords `hook(module, args, kwargs)` a pair of both."""
        return _register(self._forward_pre_hooks, hook, prepend, [(self._forward_pre_hooks_with_kwargs, with_kwargs)])

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """`hook(module, args, output)`, with keywords `hook(module, args, kwargs, output)`, may give another output.

        `always_call` runs it after an exception too.
        """
        facts = [(self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call)]
        return _register(self._forward_hooks, hook, prepend, facts)

    def register_full_backward_hook(self, hook, prepend=False):
        """`hook(module, grad_input, grad_output)` runs when the gradients of the inputs are there, and may give others.

        Both are tuples: one entry for each positional argument, and for each result; None for what is no tensor. Where
        no input requires grad it runs when the gradients of the results are there, and a warning says so.
        """
        self._is_full_backward_hook = True
        return _register(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """`hook(module, grad_output)` runs before the module's backward pass, and may give another tuple."""
        return _register(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """Not there: such a hook sees the gradients of the module's last operation only. NotImplementedError."""
        raise NotImplementedError(
            "register_backward_hook() would give the gradients of the last operation in place of the module's: use "
            "register_full_backward_hook()"
        )

    def _hooks_after_forward(self):
        """[(id, (hook, takes keyword arguments, runs after errors))], hooks of all modules first."""
        with_kwargs, always = self._forward_hooks_with_kwargs, self._forward_hooks_always_called
        own = [(key, (hook, key in with_kwargs, key in always)) for key, hook in self._forward_hooks.items()]
        return [*_global("forward"), *own]

    def _hooks_before_forward(self):
        with_kwargs = self._forward_pre_hooks_with_kwargs
        own = [(hook, key in with_kwargs) for key, hook in self._forward_pre_hooks.items()]
        return [*[(hook, keywords) for _, (hook, keywords, _) in _global("forward_pre")], *own]

    def _call_with_hooks(self, args, kwargs):
        if not any(always for _, (_, _, always) in self._hooks_after_forward()):
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
        backward = [*[hook for _, (hook, _, _) in _global("backward")], *self._backward_hooks.values()]
        before = [*[hook for _, (hook, _, _) in _global("backward_pre")], *self._backward_pre_hooks.values()]
        gates = None
        if backward or before:
            gates, args = _enter_with_backward_hooks(self, backward, before, args)
        result = self.forward(*args, **kwargs)
        for key, (hook, with_kwargs, always) in self._hooks_after_forward():
            if always:
                called.add(key)
            changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            if changed is not None:
                result = changed
        if gates is None:
            return result
        from .backward_hooks import leave_module

        return leave_module(gates, result)

    def _run_pre_hooks(self, args, kwargs):
        for hook, with_kwargs in self._hooks_before_forward():
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
        for key, (hook, with_kwargs, always) in self._hooks_after_forward():
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
