"""Programs that show the condition of a code, many in a file: how they are listed, and what is asked of each.

    @case("GB0033")                     the code, raised under fullgraph or counted without; "" for none at all
    def unbound_equal(compile): ...     builds, compiles and calls a function; returns its result

Keywords are settings of torch._dynamo.config. A program that raises raises the same plain and compiled. Without
fullgraph what it returns, prints and raises is what plain Python does.
"""

import collections
import contextlib
import functools
import io
import re
import runpy
import warnings

import minidynamo as torch

Case = collections.namedtuple("Case", "code program settings")


def one():
    return torch.ones(2)


def leaf():
    return torch.ones(2, requires_grad=True)


def lister(cases):
    """The decorator `case`, which adds to the list."""

    def case(code, **settings):
        def add(program):
            cases.append(Case(code, program, settings))
            return program

        return add

    return case


@functools.cache
def scope_of(path):
    """What a scenario file defines. Run once: operators can be defined once in a process."""
    return runpy.run_path(str(path))


def codes_of(error):
    found = set()
    while error is not None:
        found.add(getattr(error, "gb_code", None))
        error = error.__cause__ or error.__context__
    return found - {None}


def counted_codes():
    counters = torch._dynamo.utils.counters
    messages = [text for kind in ("graph_break", "unimplemented") for text in counters[kind]]
    return {code.upper() for text in messages for code in re.findall(r"gb/(gb\d{4})", text)}


def shown(v):
    """As text that two runs can be compared by."""
    if isinstance(v, torch.Tensor):
        return f"{v.dtype} {tuple(v.shape)} {v.tolist()} {v.requires_grad}"
    if isinstance(v, (list, tuple)):
        return f"{type(v).__name__}({', '.join(map(shown, v))})"
    if isinstance(v, dict):
        return f"{type(v).__name__}({', '.join(f'{k!r}: {shown(each)}' for k, each in v.items())})"
    text = repr(v)
    return type(v).__name__ if " at 0x" in text else text


def outcome(program, compiler):
    """(what is to be seen of a run, codes that were raised or counted)."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.manual_seed(0)
    printed, error = io.StringIO(), None
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.simplefilter("ignore")
        try:
            result = shown(program(compiler))
        except Exception as raised:  # noqa: BLE001  any error is the program's answer
            error, result = raised, type(raised).__name__
    return (result, printed.getvalue()), codes_of(error) | counted_codes()


def compiler(**options):
    def apply(f=None, **more):
        settings = {"backend": "eager", **options, **more}
        return torch.compile(f, **settings) if f is not None else torch.compile(**settings)

    return apply


def plain(f=None, **options):
    return f if f is not None else (lambda g: g)


def check(case):
    with torch._dynamo.config.patch(**case.settings) if case.settings else contextlib.nullcontext():
        want, _ = outcome(case.program, plain)
        got, counted = outcome(case.program, compiler())
        whole, raised = outcome(case.program, compiler(fullgraph=True))
    if case.code:
        assert case.code in raised | counted, (raised, counted, whole)
    else:
        assert not counted - {"GB0088"} and whole == want, (raised, counted, whole)
    uncaptured = got[0] == "UncapturedHigherOrderOpError"  # operators over functions have no partial form
    assert got == want or (uncaptured and case.code), (want, got)
