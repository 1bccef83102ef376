"""Python code that the tracer follows in place of a library's own."""
