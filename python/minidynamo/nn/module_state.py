"""state_dict and load_state_dict: the values of a module tree as a flat dictionary, and back."""

from collections import OrderedDict, namedtuple
from collections.abc import Mapping

from .. import _C
from ..autograd.grad_mode import no_grad
from .hooks import _register
from .parameter import is_lazy

_EXTRA = "_extra_state"  # the key of what get_extra_state gives


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self):
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class ModuleState:
    """The part of Module that saves and loads."""

    def _persistent_members(self):
        members = dict(self._parameters)
        members.update((k, b) for k, b in self._buffers.items() if k not in self._non_persistent_buffers_set)
        return {name: member for name, member in members.items() if member is not None}

    def get_extra_state(self):
        """What a subclass keeps in the state_dict beside its tensors; it defines set_extra_state too."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: it does not define get_extra_state()")

    def set_extra_state(self, state):
        """Takes back what get_extra_state() gave."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: it does not define set_extra_state()")

    def _defines(self, method):
        return getattr(type(self), method) is not getattr(ModuleState, method)

    def register_state_dict_pre_hook(self, hook):
        """`hook(module, prefix, keep_vars)` runs before this module's part of a state_dict is made."""
        return _register(self._state_dict_pre_hooks, hook, False)

    def register_state_dict_post_hook(self, hook):
        """`hook(module, state_dict, prefix, local_metadata)` runs after it, and may change `state_dict` in place."""
        return _register(self._state_dict_hooks, hook, False, [(self._state_dict_hooks_in_place, True)])

    def _register_state_dict_hook(self, hook):
        """As register_state_dict_post_hook, but what the hook gives, if not None, takes the dictionary's place."""
        return _register(self._state_dict_hooks, hook, False)

    def register_load_state_dict_pre_hook(self, hook):
        """`hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` runs
        before this module takes its part of a state_dict."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        """The same, and without `with_module` the hook does not get the module."""
        facts = [(self._load_state_dict_pre_hooks_with_module, with_module)]
        return _register(self._load_state_dict_pre_hooks, hook, False, facts)

    def register_load_state_dict_post_hook(self, hook):
        """`hook(module, incompatible_keys)` runs after this module and those below have loaded, and may change the two
        lists in place."""
        return _register(self._load_state_dict_post_hooks, hook, False)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Puts what this module itself holds into `destination`."""
        for name, member in self._persistent_members().items():
            destination[prefix + name] = member if keep_vars or is_lazy(member) else member.detach()
        if self._defines("get_extra_state"):
            destination[prefix + _EXTRA] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Path to tensor, for parameters and persistent buffers; the tensors share the module's memory."""
        for name, given in zip(("destination", "prefix", "keep_vars"), args):  # positions of older programs
            destination = given if name == "destination" else destination
            prefix = given if name == "prefix" else prefix
            keep_vars = given if name == "keep_vars" else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        about = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = about
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for key, hook in self._state_dict_hooks.items():
            changed = hook(self, destination, prefix, about)
            if changed is not None:
                if key in self._state_dict_hooks_in_place:
                    raise RuntimeError("a state_dict post-hook changes the dictionary in place and has to give None")
                destination = changed
        return destination

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Takes what this module itself holds from `state_dict`; what is wrong goes into the three lists."""
        for key, hook in self._load_state_dict_pre_hooks.items():
            module = (self,) if key in self._load_state_dict_pre_hooks_with_module else ()
            hook(*module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        members = self._persistent_members()
        for name, member in members.items():
            key = prefix + name
            if key in state_dict:
                self._load_member(name, member, key, state_dict[key], local_metadata, error_msgs)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix + _EXTRA, strict, missing_keys, unexpected_keys)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != prefix + _EXTRA:
                    head, dot, _ = key[len(prefix) :].partition(".")
                    if (dot and head not in self._modules) or (not dot and head not in members):
                        unexpected_keys.append(key)

    def _load_extra_state(self, state_dict, key, strict, missing_keys, unexpected_keys):
        if self._defines("set_extra_state"):
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def _load_member(self, name, member, key, value, local_metadata, error_msgs):
        if not isinstance(value, _C.Tensor):
            error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(value)}"
            )
            return
        if is_lazy(member) and is_lazy(value):
            return
        if value.shape != member.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                f"the shape in current model is {member.shape}."
            )
            return
        if not local_metadata.get("assign_to_params_buffers", False):
            with no_grad():
                member.copy_(value)
            return
        if name in self._parameters and not isinstance(value, type(member)):
            value = type(member)(value, requires_grad=member.requires_grad)
        setattr(self, name, value)

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies values into parameters and buffers, or with `assign` puts the given tensors in their place.

        `strict` refuses keys that are missing or not expected. Gives both lists.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None) or {}
        missing, unexpected, errors = [], [], []
        incompatible = _IncompatibleKeys(missing, unexpected)

        def load(module, local, prefix):
            about = dict(metadata.get(prefix[:-1], {}))
            if assign:
                about["assign_to_params_buffers"] = True
            module._load_from_state_dict(local, prefix, about, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    below = f"{prefix}{name}."
                    load(child, {k: v for k, v in local.items() if k.startswith(below)}, below)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, incompatible) is not None:
                    raise AssertionError("a load_state_dict post-hook changes the lists in place and has to give None")

        load(self, OrderedDict(state_dict), "")
        if strict:
            for title, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    errors.insert(0, f"{title} key(s) in state_dict: {', '.join(map(_quoted, keys))}. ")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return incompatible


def _quoted(key):
    return f'"{key}"'
