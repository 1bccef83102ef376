"""The web pages of the registry and the documentation, as `python -m minidynamo site` builds them."""
