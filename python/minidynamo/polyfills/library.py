"""Which Python code is traced where the program calls the standard library: the tables of all modules in one.

A key is a function or class of the library, or a class and the name of one of its class methods. A function there is
called instead of it, with the same parameters. A class does the work of the library's: its objects are seen as the
library's, with its type; `rebuilt` tells the call that makes the real one in the same state (see itertools.py).
"""

from . import functools, itertools, operator

TABLE = {**itertools.TABLE, **functools.TABLE, **operator.TABLE}
