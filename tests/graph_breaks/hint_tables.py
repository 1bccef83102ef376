"""Tables of programs that follow hints. The first hint of a code is followed by `fix` in GBxxxx.py; others, other ways
that a hint names, and programs that meet the variants of a code are in hints_*.py beside this one.

`before(id)` marks a program that meets the text `id` ("GB0007_numpy"), `after(id, n)` one that follows its n-th hint.
"""

BEFORE, AFTER = {}, []


def before(id_):
    def mark(program):
        BEFORE[id_] = program
        return program

    return mark


def after(id_, number, *, breaks_elsewhere=False):
    def mark(program):
        AFTER.append((id_, number, breaks_elsewhere, program))
        return program

    return mark
