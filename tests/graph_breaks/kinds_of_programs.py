"""All programs of this folder that meet a code, and of what kind each is, as told by where it breaks.

A plain program breaks in the function that is compiled, an inlined one in a function or method that it calls; two are
different if they begin or break at lines that read differently. A neighbour is the rewrite of a scenario, which
is one graph.
"""

import collections
import contextlib
import importlib
import io
import linecache
import pathlib
import warnings

import minidynamo as torch
from graph_breaks import conditions, hint_tables, test_conditions, test_scenarios
from graph_breaks import test_conditions_of_calls as of_calls
from graph_breaks import test_conditions_of_objects as of_objects
from graph_breaks import test_conditions_where_caught as where_caught
from graph_breaks import test_sites_by_other_ways as other_ways
from graph_breaks.condition_rows import leaf, vector
from minidynamo import _events

PACKAGE = str(pathlib.Path(torch.__file__).parent)
Met = collections.namedtuple("Met", "depth place")


def applied(function, make_args=vector):
    return lambda compile: compile(function)(*make_args())


def used(use, make):
    """A row whose function is given an object made outside."""

    def program(compile):
        made = make()
        return compile(lambda x: use(made, x))(*vector())

    return program


def rows_of_tests():
    """(code, program) of the tables in the tests' own modules."""
    for code, function, *make in of_objects.ROWS + of_calls.ROWS + of_calls.BORN:
        yield code, applied(function, *make)
    for code, function in where_caught.ROWS + where_caught.CAUGHT:
        yield code, applied(function)
    for code, function in of_calls.ARRAYS:
        yield code, applied(function, of_calls.array)
    for code, function in of_calls.GRADIENTS:
        yield code, applied(function, leaf)
    for code, use in of_objects.SPECIALIZED:
        yield code, used(use, of_objects.Parts)
    for code, use in of_objects.CLASSES:
        yield code, used(use, of_objects.function_class)
    for code, cls in of_objects.CONTEXTS:
        yield code, applied(lambda x, cls=cls: cls.apply(x), leaf)
    for code, function, make in other_ways.WAYS.values():
        yield code, applied(function, make)


def programs():
    """(code, program, settings) of whatever meets a code; counts of the neighbours by code."""
    found, neighbours = [], collections.Counter()
    for case in test_conditions.CASES:
        if case.code:
            found.append((case.code, case.program, case.settings))
    found += [(code, program, {}) for code, program in rows_of_tests() if code]
    for path in test_scenarios.FILES:
        scope = conditions.scope_of(path)
        found.append((scope["CODE"], scope["run"], {}))
        neighbours[scope["CODE"]] += "fix" in scope
    for name in ("hints_to_0059", "hints_to_0139", "hints_from_0140"):
        importlib.import_module(f"graph_breaks.{name}")
    found += [(key[:6], program, {}) for key, program in hint_tables.BEFORE.items()]
    return found, neighbours


def is_a_function(frame):
    """Of the program's: neither the library's own nor a comprehension, which has no frame in CPython 3.12."""
    file, _, name, *_ = frame
    return not file.startswith(PACKAGE) and name not in ("<listcomp>", "<dictcomp>", "<setcomp>")


@contextlib.contextmanager
def noted():
    """(code, traced frames) of every break that is told of."""
    breaks = []

    def note(event):
        breaks.append((event.code, list(filter(is_a_function, _events.frames_of(event)))))

    with _events.subscribe(note, ["break"]):
        yield breaks


def breaks_of(program, settings, options):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    patch = torch._dynamo.config.patch(**settings) if settings else contextlib.nullcontext()
    with patch, noted() as breaks, warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        with contextlib.suppress(Exception):
            program(conditions.compiler(**options))
    return breaks


def source_of(file, line, *_):
    return linecache.getline(file, line).strip()


def met(code, program, settings):
    """How the program meets the code, or None."""
    for options in ({"fullgraph": True}, {}):
        for name, frames in breaks_of(program, settings, options):
            if name == code:
                source = frames and source_of(*frames[-1])
                return Met(len(frames), (source_of(*frames[0]), source) if source else program.__name__)
    return None
