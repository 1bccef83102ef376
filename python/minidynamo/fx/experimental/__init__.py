"""Parts of graphs that are about symbolic sizes."""
