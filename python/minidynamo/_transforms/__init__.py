"""Function transforms: vmap, and gradients of functions. torch.func and torch.vmap show them.

Their levels are kept in C++ (ir/batching/levels.h), which batches each call of an op (ir/batching).
"""

from . import functions as functions  # noqa: F401  what autograd.Function does inside them
