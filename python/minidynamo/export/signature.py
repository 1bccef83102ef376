"""What the inputs and outputs of an exported graph are."""

import dataclasses
import enum


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


@dataclasses.dataclass
class ExportGraphSignature:
    """Inputs are parameters, buffers, other tensors the module holds, then the user's; outputs are the user's."""

    input_specs: list
    output_specs: list

    def _inputs(self, kind):
        return [spec for spec in self.input_specs if spec.kind == kind]

    @property
    def parameters(self):
        return tuple([spec.target for spec in self._inputs(InputKind.PARAMETER)])

    @property
    def buffers(self):
        return tuple([spec.target for spec in self._inputs(InputKind.BUFFER)])

    @property
    def user_inputs(self):
        return tuple([spec.name for spec in self._inputs(InputKind.USER_INPUT)])

    @property
    def user_outputs(self):
        return tuple([spec.name if spec.name else spec.target for spec in self.output_specs])

    @property
    def inputs_to_parameters(self):
        return {spec.name: spec.target for spec in self._inputs(InputKind.PARAMETER)}

    @property
    def inputs_to_buffers(self):
        return {spec.name: spec.target for spec in self._inputs(InputKind.BUFFER)}

    def __str__(self):
        lines = ["", "# inputs"]
        for spec in self.input_specs:
            lines.append(f"{spec.name}: {spec.kind.name}" + (f" target={spec.target!r}" if spec.target else ""))
        lines += ["", "# outputs", *[f"{spec.name}: {spec.kind.name}" for spec in self.output_specs], ""]
        return "\n".join(lines)
