"""What a traced polyfill may ask about constants: these functions run while tracing."""
