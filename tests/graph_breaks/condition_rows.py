"""Runs rows of the tables of conditions: a code, a function, and what makes its arguments.

A row of a code passes if the compiled function does what the plain one does (result, arguments, exception) and breaks
with that code; one without a code, if the whole function is one graph.
"""

import minidynamo as torch
from graph_breaks import conditions


def vector():
    return (torch.tensor([1.0, 2.0]),)


def leaf():
    return (torch.ones(2, requires_grad=True),)


def check(code, function, make_args=vector):
    def program(compile):
        args = make_args()
        try:
            return compile(function)(*args)
        finally:
            print(conditions.shown(args))

    conditions.check(conditions.Case(code, program, {}))
