"""Names of torch.utils."""
