"""Short spellings for guard programs over a frame's arguments."""

import builtins


def local(slot=0, name="x"):
    return ("local", slot, name)


def run(program, *arguments, scope=None, native=None):
    """(passes, first failure): the two must agree, and asking twice changes nothing."""
    scope = {} if scope is None else scope
    native = builtins.__dict__ if native is None else native
    passed = program.check(arguments, scope, native)
    reason = program.explain(arguments, scope, native)
    assert passed == (reason == "")
    assert passed == program.check(arguments, scope, native)
    return passed, reason
