"""torch.utils: submodules, loaded by name."""
