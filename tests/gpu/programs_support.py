"""What the programs of these tests share."""

import contextlib
import re


@contextlib.contextmanager
def raises(kinds, words):
    """An exception of these kinds whose text has these words."""
    try:
        yield
    except kinds as error:
        assert re.search(re.escape(words), str(error)), f"{words!r} is not in {error!s}"
        return
    raise AssertionError(f"no {kinds} was raised")
