"""What `python -m minidynamo report` writes: events of a run become a model, the model a page in HTML."""
