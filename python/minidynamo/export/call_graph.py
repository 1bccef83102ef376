"""Which modules an exported program has calls of."""

from dataclasses import dataclass


@dataclass
class ModuleCallSignature:
    """How a module was called: names of its inputs and outputs, and their nesting."""

    inputs: list
    outputs: list
    in_spec: object
    out_spec: object
    forward_arg_names: list | None = None


@dataclass
class ModuleCallEntry:
    """A module by its name, "" for the whole; the whole and those asked for have a signature."""

    fqn: str
    signature: ModuleCallSignature | None = None


@dataclass
class CallSpec:
    """How arguments and results are nested."""

    in_spec: object
    out_spec: object


def call_graph_of(mod, signature, spec):
    """An entry for each module below `mod` that is there."""
    names = list(signature.user_inputs), list(signature.user_outputs)
    entries = [ModuleCallEntry("", ModuleCallSignature(*names, spec.in_spec, spec.out_spec))]
    return entries + [ModuleCallEntry(name) for name, _ in mod.named_modules() if name]
