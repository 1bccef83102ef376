"""What the inputs and outputs of an exported graph are."""

import dataclasses
import enum
from types import MappingProxyType


class InputKind(enum.Enum):
    """What an input of an exported graph is."""

    USER_INPUT = 1
    PARAMETER = 2
    BUFFER = 3
    CONSTANT_TENSOR = 4
    CUSTOM_OBJ = 5
    TOKEN = 6


class OutputKind(enum.Enum):
    """What an output is."""

    USER_OUTPUT = 1
    LOSS_OUTPUT = 2
    BUFFER_MUTATION = 3
    PARAMETER_MUTATION = 4
    GRADIENT_TO_PARAMETER = 5
    GRADIENT_TO_USER_INPUT = 6
    USER_INPUT_MUTATION = 7
    TOKEN = 8


@dataclasses.dataclass
class ArgumentSpec:
    """An input or output: what it is, the node's name, and for parameters and buffers where they are."""

    kind: InputKind | OutputKind
    name: str
    target: object = None
    persistent: bool = True

    @property
    def arg(self):
        return self


@dataclasses.dataclass
class ExportGraphSignature:
    """Inputs are parameters, buffers, other tensors the module holds, then the user's; outputs are the user's."""

    input_specs: list
    output_specs: list

    def _inputs(self, kind):
        return [spec for spec in self.input_specs if spec.kind == kind]

    def _targets(self, kind):
        return {spec.name: spec.target for spec in self._inputs(kind)}

    @property
    def parameters(self):
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self):
        return tuple(self.inputs_to_buffers.values())

    @property
    def non_persistent_buffers(self):
        return tuple([spec.target for spec in self._inputs(InputKind.BUFFER) if not spec.persistent])

    @property
    def user_inputs(self):
        return tuple([spec.name for spec in self._inputs(InputKind.USER_INPUT)])

    @property
    def user_outputs(self):
        return tuple([spec.name if spec.name else spec.target for spec in self.output_specs])

    @property
    def inputs_to_parameters(self):
        return MappingProxyType(self._targets(InputKind.PARAMETER))

    @property
    def inputs_to_buffers(self):
        return MappingProxyType(self._targets(InputKind.BUFFER))

    @property
    def inputs_to_lifted_tensor_constants(self):
        return MappingProxyType(self._targets(InputKind.CONSTANT_TENSOR))

    @property
    def lifted_tensor_constants(self):
        return tuple(self.inputs_to_lifted_tensor_constants.values())

    @property
    def inputs_to_lifted_custom_objs(self):
        return MappingProxyType({})

    @property
    def lifted_custom_objs(self):
        return ()

    @property
    def buffers_to_mutate(self):
        """Nothing: what is written to a buffer is written by an operator of the graph."""
        return MappingProxyType({})

    parameters_to_mutate = user_inputs_to_mutate = buffers_to_mutate

    @property
    def backward_signature(self):
        return None

    @property
    def assertion_dep_token(self):
        return None

    input_tokens = output_tokens = lifted_custom_objs

    def replace_all_uses(self, old, new):
        """Gives the inputs and outputs of a name another one."""
        for spec in [*self.input_specs, *self.output_specs]:
            if spec.name == old:
                spec.name = new

    def __str__(self):
        lines = ["", "# inputs"]
        for spec in self.input_specs:
            lines.append(f"{spec.name}: {spec.kind.name}" + (f" target={spec.target!r}" if spec.target else ""))
        lines += ["", "# outputs", *[f"{spec.name}: {spec.kind.name}" for spec in self.output_specs], ""]
        return "\n".join(lines)
