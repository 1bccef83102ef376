"""state_dict and load_state_dict: the values of a module tree as a flat dictionary, and back."""

from collections import OrderedDict, namedtuple
from collections.abc import Mapping

from .. import _C
from ..autograd.grad_mode import no_grad


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

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Puts what this module itself holds into `destination`."""
        for name, member in self._persistent_members().items():
            destination[prefix + name] = member if keep_vars else member.detach()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Path to tensor, for parameters and persistent buffers; the tensors share the module's memory."""
        for name, given in zip(("destination", "prefix", "keep_vars"), args):  # positions of older programs
            destination = given if name == "destination" else destination
            prefix = given if name == "prefix" else prefix
            keep_vars = given if name == "keep_vars" else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = {"version": self._version}
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return destination

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Takes what this module itself holds from `state_dict`; what is wrong goes into the three lists."""
        members = self._persistent_members()
        for name, member in members.items():
            key = prefix + name
            if key in state_dict:
                self._load_member(name, member, key, state_dict[key], local_metadata, error_msgs)
            elif strict:
                missing_keys.append(key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix):
                    head, dot, _ = key[len(prefix) :].partition(".")
                    if (dot and head not in self._modules) or (not dot and head not in members):
                        unexpected_keys.append(key)

    def _load_member(self, name, member, key, value, local_metadata, error_msgs):
        if not isinstance(value, _C.Tensor):
            error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(value)}"
            )
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

        def load(module, local, prefix):
            about = dict(metadata.get(prefix[:-1], {}))
            if assign:
                about["assign_to_params_buffers"] = True
            module._load_from_state_dict(local, prefix, about, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    below = f"{prefix}{name}."
                    load(child, {k: v for k, v in local.items() if k.startswith(below)}, below)

        load(self, OrderedDict(state_dict), "")
        if strict:
            for title, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    errors.insert(0, f"{title} key(s) in state_dict: {', '.join(map(_quoted, keys))}. ")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return _IncompatibleKeys(missing, unexpected)


def _quoted(key):
    return f'"{key}"'
