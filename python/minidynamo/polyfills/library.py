"""Which Python code is traced where the program calls the standard library: the tables of all modules in one.

A key is a function or class of the library, or a class and the name of a method. A function there is called instead of
it, with the same parameters. A class does the work of the library's: its objects are seen as the library's, with its
type; `rebuilt` tells the call that makes the real one in the same state (see itertools.py).
"""

from importlib import import_module

from . import (
    builtins,
    collections,
    exceptions,
    functools,
    itertools,
    math,
    operator,
    paths,
    tensors,
    text,
    types,
)

TABLE = {
    **builtins.TABLE,
    **collections.TABLE,
    **exceptions.TABLE,
    **functools.TABLE,
    **itertools.TABLE,
    **math.TABLE,
    **operator.TABLE,
    **tensors.TABLE,
    **paths.TABLE,
    **text.TABLE,
    **types.TABLE,
}


def take_up(module):
    """Adds the table for a module that the program has imported: this package imports none for its polyfills' sake."""
    TABLE.update(import_module(f"{__package__}.{module}").TABLE)


def call_that_made(value):
    """The arguments, by position and by keyword, of the call that made an object whose parts never change: a getter
    of operator. None if that call is unknown, or not of constants."""
    return operator.call_that_made(value)
