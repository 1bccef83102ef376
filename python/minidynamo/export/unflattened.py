"""An exported program as a tree of modules again."""

import copy

from ..nn import Module


class FlatArgsAdapter:
    """What gives a program arguments of another nesting: adapt(target_spec, input_spec, input_args)."""

    def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
        raise NotImplementedError("adapt() is for subclasses")


class UnflattenedModule(Module):
    """The modules of the exported one under their names, to be called or replaced; with the program's state."""

    def __init__(self, export_module, flat_args_adapter=None):
        super().__init__()
        made = copy.deepcopy(export_module._recipe[0])
        with_state = dict(export_module.state_dict)
        for name, tensor in [*made.named_parameters(), *made.named_buffers()]:
            if name in with_state:
                tensor.data = with_state[name].detach().clone()
        self.__dict__.update(made.__dict__)
        object.__setattr__(self, "_forward", type(made).forward)

    def forward(self, *args, **kwargs):
        return self._forward(self, *args, **kwargs)

    def _get_name(self):
        return "UnflattenedModule"


def unflatten(module, flat_args_adapter=None):
    """The modules of an exported program, nested as they were before."""
    return UnflattenedModule(module, flat_args_adapter)
