"""What `python -m minidynamo` does: a module for each command, and what all of them print with."""
