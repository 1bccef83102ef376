"""What the inputs and outputs of a graph are that aot_export_module() gives."""

from dataclasses import dataclass, field


@dataclass
class BackwardSignature:
    """Gradients by the name of what they belong to, and the loss they come from."""

    gradients_to_parameters: dict
    gradients_to_user_inputs: dict
    loss_output: str


@dataclass
class GraphSignature:
    """Parameters, buffers, then the user's inputs; the user's outputs, then gradients."""

    parameters: list
    buffers: list
    user_inputs: list
    user_outputs: list
    inputs_to_parameters: dict
    inputs_to_buffers: dict
    buffers_to_mutate: dict = field(default_factory=dict)
    user_inputs_to_mutate: dict = field(default_factory=dict)
    in_spec: object = None
    out_spec: object = None
    backward_signature: BackwardSignature | None = None


def signature_of(module, parameters, buffers, loss_place):
    """The signature of a graph whose first inputs are these; with a loss, its last outputs are gradients."""
    nodes = list(module.graph.nodes)
    inputs = [node.name for node in nodes if node.op == "placeholder"]
    outputs = [getattr(value, "name", value) for value in nodes[-1].args[0]]
    of_parameters = dict(zip(inputs, parameters))
    of_buffers = dict(zip(inputs[len(parameters) :], buffers))
    backward = None
    if loss_place is not None:
        gradients = outputs[len(outputs) - len(parameters) :]
        outputs = outputs[: len(outputs) - len(parameters)]
        backward = BackwardSignature(dict(zip(gradients, parameters)), {}, outputs[loss_place])
    user_inputs = inputs[len(parameters) + len(buffers) :]
    return GraphSignature(
        parameters, buffers, user_inputs, outputs, of_parameters, of_buffers, backward_signature=backward
    )
