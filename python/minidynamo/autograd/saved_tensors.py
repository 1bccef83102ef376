"""How tensors are kept for backward passes: hooks that pack them away and bring them back."""

import contextlib
import threading
import types

from .. import _C


class saved_tensors_hooks:
    """Within this block `pack_hook(tensor)` is kept in place of each tensor that an operation saves for its backward.

    The backward pass uses `unpack_hook(packed)`, a tensor of the same sizes and dtype, once for each time it goes
    through the operation. Of nested blocks the innermost is asked. A pack hook runs with gradients off and may not
    write to its tensor. TypeError for hooks that are not callable and for what is no tensor when unpacked.
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        _C._push_saved_tensor_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error):
        _C._pop_saved_tensor_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Within this block saved tensors wait in the memory of the CPU, and go back to their device when they are needed.

    `pin_memory` asks for page-locked memory, which serves devices of `device_type`: there are none here, so it has no
    effect.
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(
            lambda tensor: (tensor.device, tensor.to("cpu", copy=True)), lambda packed: packed[1].to(packed[0])
        )


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """Within this block hooks on saved tensors are an error with this text (RuntimeError), as it is to be in one."""
    before = _C._refuse_saved_tensor_hooks(error_message)
    try:
        yield
    finally:
        _C._refuse_saved_tensor_hooks(before)


class _KeptCopies:
    """What allow_mutation_on_saved_tensors() gives: clear() forgets what was kept in its block so far."""

    def __init__(self):
        self.block = object()

    def clear(self):
        self.block = object()

    def pack(self, tensor):
        return self.block, tensor.detach().clone()

    def unpack(self, packed):
        block, tensor = packed
        if block is not self.block:
            raise AssertionError(
                "backward() outside of the allow_mutation_on_saved_tensors() block that the operations were recorded in"
            )
        return tensor


_copies_kept = threading.local()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Within this block tensors that a backward pass needs may be written to: it uses them as they were. It has to run
    within the block as well (AssertionError). Here every one of them is copied, whether it is written to or not.
    RuntimeError for a block within another."""
    if getattr(_copies_kept, "within", False):
        raise RuntimeError("allow_mutation_on_saved_tensors() blocks cannot be nested")
    kept = _KeptCopies()
    _copies_kept.within = True
    try:
        with saved_tensors_hooks(kept.pack, kept.unpack):
            yield kept
    finally:
        kept.clear()
        _copies_kept.within = False


def _saved_tensors_hooks_disable(error_message, fail_if_non_empty=True):
    """From here on hooks on saved tensors are an error with this text."""
    _C._refuse_saved_tensor_hooks(error_message)


def _saved_tensors_hooks_enable():
    """Takes _saved_tensors_hooks_disable() back."""
    _C._refuse_saved_tensor_hooks(None)


def _saved_tensors_hooks_get_disabled_error_message():
    """The text of _saved_tensors_hooks_disable(); None where hooks are allowed."""
    text = _C._refuse_saved_tensor_hooks(None)
    if text is not None:
        _C._refuse_saved_tensor_hooks(text)
    return text


def _saved_tensors_hooks_is_enabled():
    """Whether hooks on saved tensors are allowed."""
    return _saved_tensors_hooks_get_disabled_error_message() is None


# As torch has these names.
_C._autograd = types.SimpleNamespace(
    _saved_tensors_hooks_disable=_saved_tensors_hooks_disable,
    _saved_tensors_hooks_enable=_saved_tensors_hooks_enable,
    _saved_tensors_hooks_get_disabled_error_message=_saved_tensors_hooks_get_disabled_error_message,
    _saved_tensors_hooks_is_enabled=_saved_tensors_hooks_is_enabled,
)
