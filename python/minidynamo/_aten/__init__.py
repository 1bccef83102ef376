"""The operators that handlers (`__torch_dispatch__`) are asked about: torch's names and signatures for ops of this
package. Loaded with the first handler, or when `torch.ops.aten` is asked for a signature."""
