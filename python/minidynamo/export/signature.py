"""What the inputs and outputs of an exported graph are."""

import dataclasses


@dataclasses.dataclass
class ArgumentSpec:
    """An input or output: what it is, the node's name, and for parameters and buffers where they are."""

    kind: str
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
        return tuple([spec.target for spec in self._inputs("PARAMETER")])

    @property
    def buffers(self):
        return tuple([spec.target for spec in self._inputs("BUFFER")])

    @property
    def user_inputs(self):
        return tuple([spec.name for spec in self._inputs("USER_INPUT")])

    @property
    def user_outputs(self):
        return tuple([spec.name if spec.name else spec.target for spec in self.output_specs])

    @property
    def inputs_to_parameters(self):
        return {spec.name: spec.target for spec in self._inputs("PARAMETER")}

    @property
    def inputs_to_buffers(self):
        return {spec.name: spec.target for spec in self._inputs("BUFFER")}

    def __str__(self):
        lines = ["", "# inputs"]
        for spec in self.input_specs:
            lines.append(f"{spec.name}: {spec.kind}" + (f" target={spec.target!r}" if spec.target else ""))
        lines += ["", "# outputs", *[f"{spec.name}: {spec.kind}" for spec in self.output_specs], ""]
        return "\n".join(lines)
