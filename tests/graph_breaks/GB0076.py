"""A comprehension uses the name of a local that was never bound, and the local is read after it."""

CODE = "GB0076"
MIN_PYTHON = (3, 12)
EAGER_ERROR = "UnboundLocalError"
import torch


def last(x, rows):
    if len(rows) > 2:
        row = rows[0]
    doubled = [row * 2 for row in rows]
    return x + row + len(doubled)


def run(compile):
    return compile(lambda x, rows: last(x, rows=rows))(torch.ones(2), [1, 2])


def fix(compile):
    @compile
    def f(x, rows):
        row = 0
        doubled = [row * 2 for row in rows]
        return x + row + len(doubled)

    return f(torch.ones(2), [1, 2])
