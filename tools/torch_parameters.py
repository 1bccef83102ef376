"""Records which parameters torch's functions take, for the comparison in docs/api.md. Needs torch; its answer is kept
in tools/torch_parameters.json, so that nothing else does.

    python tools/torch_parameters.py
"""

import importlib
import inspect
import json
import pathlib

import torch

SPACES = (
    "", "Tensor", "linalg", "special", "nn", "nn.functional", "nn.init", "autograd", "autograd.function", "compiler",
    "_dynamo", "_dynamo.comptime", "_dynamo.testing", "library", "utils.cpp_extension", "utils.checkpoint", "export",
    "fx", "_logging", "utils.dlpack", "random",
)  # fmt: skip
NOISE = {"self", "out", "a", "b", "t", "reverse", "implicit"}  # the last ones of TorchScript's own overloads
PREFIX = {"linalg": "linalg_", "special": "special_"}


def owner_of(space):
    if space == "Tensor":
        return torch.Tensor
    return importlib.import_module(f"torch.{space}" if space else "torch")


def of_schemas(name):
    """Of all overloads of a native function; empty if there is none of that name."""
    found = {}
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        # Without a tensor anywhere it is one of TorchScript's own, on numbers.
        if "Tensor" in str(schema):
            found |= dict.fromkeys(a.name for a in schema.arguments if a.name == "self" or not a.is_out)
    return found


def parameters(space, name, thing):
    try:
        return list(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return list(of_schemas(PREFIX.get(space, "") + name) or of_schemas(name))


def main():
    facts = {}
    for space in SPACES:
        owner = owner_of(space)
        for name in dir(owner):
            thing = getattr(owner, name)
            if name.startswith("_") or not callable(thing):
                continue
            if known := parameters(space, name, thing):
                facts[f"{space}.{name}".lstrip(".")] = [p for p in known if p not in NOISE]
    lines = ",\n".join(f'"{name}": {json.dumps(known)}' for name, known in sorted(facts.items()))
    pathlib.Path(__file__).with_suffix(".json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
