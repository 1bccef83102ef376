"""What torch.jit and the traces it makes have in common."""

tracing = [0]  # calls of torch.jit.trace under way


class ScriptFunction:
    """Type of what trace() makes of a function."""

    __module__ = f"{__package__}.jit"
