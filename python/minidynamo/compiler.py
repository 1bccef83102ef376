"""minidynamo.compiler: names of torch.compiler."""

from ._dynamo.eval_frame import compile, disable, is_compiling, list_backends, reset

__all__ = ["compile", "disable", "is_compiling", "is_dynamo_compiling", "list_backends", "reset"]

is_dynamo_compiling = is_compiling
