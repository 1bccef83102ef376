"""Copies of the sources that schedule nests for GPUs and emit them, in which one fault at a time can be planted.

    .venv/bin/python tools/schedule_faults.py     writes them and builds a package with them, build-faults/package

In such a build MINIDYNAMO_SCHEDULE_FAULT=N plants fault N; MINIDYNAMO_SCHEDULE_FAULT_REACHED is set once its place has
been run. Nothing is marked in the sources: a fault is a barrier left out, a value of another thread, a mask or a bound
that is wrong or gone, an index off by one. tests/gpu/faults.py says which of them are noticed.
"""

import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build-faults"
SOURCES = (
    "backend/llvm/gpu_columns.cpp",
    "backend/llvm/gpu_elements.cpp",
    "backend/llvm/gpu_emitter.cpp",
    "backend/llvm/gpu_rows.cpp",
    "backend/llvm/gpu_tiles.cpp",
    "backend/nest/gpu_schedule.cpp",
)
SWITCH = """#include <cstdlib>
namespace md {
inline bool fault_is_planted(int number) {
  const char* const chosen = std::getenv("MINIDYNAMO_SCHEDULE_FAULT");
  if (!chosen || std::atoi(chosen) != number) return false;
  setenv("MINIDYNAMO_SCHEDULE_FAULT_REACHED", "1", 1);
  return true;
}
}  // namespace md
"""
BARRIER, LANE, MASK, INDEX = "barrier left out", "another thread", "another mask", "off by one"
LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*')
# Callee -> (kind, what its arguments become), each a fault of its own.
CALLS = {
    "gpu_.from_later": [(LANE, lambda v, far, width: f"gpu_.from_later({v}, ({far}) + 1, {width})")],
    "gpu_.from_first": [(LANE, lambda v, width: f"gpu_.from_later({v}, 1, {width})")],
    "ir_.CreateICmpSLT": [(MASK, lambda a, b: f"ir_.CreateICmpSLE({a}, {b})")],
    "ir_.CreateICmpULT": [(MASK, lambda a, b: f"ir_.CreateICmpULE({a}, {b})")],
    "ir_.CreateICmpEQ": [(MASK, lambda a, b: f"ir_.CreateICmpNE({a}, {b})")],
    "ir_.CreateAnd": [(MASK, lambda a, b: a), (MASK, lambda a, b: b)],
    "ir_.CreateOr": [(MASK, lambda a, b: a)],
    "ir_.CreateSelect": [(MASK, lambda c, a, b: a), (MASK, lambda c, a, b: b)],
    "ir_.CreateBinaryIntrinsic": [(MASK, lambda which, a, b: a), (MASK, lambda which, a, b: b)],
    "emit_stores": [(MASK, lambda stores, col, lanes, chosen: f"emit_stores({stores}, {col}, {lanes}, nullptr)")],
    "when": [(MASK, lambda condition, body: f"when(nullptr, {body})")],
    "when_carrying": [(MASK, lambda condition, carried, body: f"when_carrying(ir_.getTrue(), {carried}, {body})")],
    "i64": [(INDEX, lambda n: f"i64(({n}) + 1)")],
    "i32": [(INDEX, lambda n: f"i32(({n}) + 1)")],
    "ir_.CreateAdd": [(INDEX, lambda a, b: a)],
    "ir_.CreateMul": [(INDEX, lambda a, b: a)],
    "ir_.CreateUDiv": [(INDEX, lambda a, b: f"ir_.CreateURem({a}, {b})")],
    "ir_.CreateURem": [(INDEX, lambda a, b: f"ir_.CreateUDiv({a}, {b})")],
    "shared": [(INDEX, lambda kind, count, name: f"shared({kind}, ({count}) - 1, {name})")],
    "stack": [(INDEX, lambda kind, count: f"stack({kind}, 1)")],
    "blocks": [(INDEX, lambda n, each: f"(blocks({n}, {each}) + 1)"), (INDEX, lambda n, each: f"(({n}) / ({each}))")],
}
# What stands alone, in the sources it stands in.
PLAIN = (
    ("", r"\bwide\((x_)\)", LANE, "y_"),
    ("", r"\bwide\((y_)\)", LANE, "x_"),
    ("gpu_schedule", r"(count\.value\(\) <= s\.chunk)", MASK, "count.value() <= s.chunk + 64"),
    ("gpu_schedule", r"(count\.value\(\) >= together)", MASK, "true"),
    ("gpu_schedule", r"(count\.value\(\) % together != 0)", MASK, "false"),
    ("gpu_schedule", r"(columns\.value\(\) % width != 0)", MASK, "false"),
    ("gpu_schedule", r"(far\.value\(\) % width == 0)", MASK, "true"),
    ("gpu_schedule", r"(!step\.is_const\(0\) && !step\.is_const\(1\))", MASK, "false"),
)


def _blanked(text):
    """The same length, without what literals and comments would confuse."""
    return LITERAL.sub(lambda m: " " * len(m[0]), text)


def _arguments(code, opened):
    """(begin, end) of each argument of the call whose parenthesis opens at `opened`, and where it closes."""
    depth, begin, found = 0, opened + 1, []
    for at in range(opened, len(code)):
        depth += (code[at] in "({[") - (code[at] in ")}]")
        if code[at] == "," and depth == 1:
            found.append((begin, at))
            begin = at + 1
        if depth == 0:
            return [*found, (begin, at)], at
    raise ValueError("a call without an end")


def _calls(code, text):
    for callee, faults in CALLS.items():
        for match in re.finditer(rf"(?<![\w.:>*&]){re.escape(callee)}\(", code):
            places, end = _arguments(code, match.end() - 1)
            arguments = [text[begin:last].strip() for begin, last in places]
            if _is_declared(code, match.start(), arguments):
                continue
            whole = (match.start(), end + 1)
            for kind, change in faults:
                if len(arguments) != change.__code__.co_argcount:
                    continue
                if (instead := change(*arguments)) != text[whole[0] : whole[1]]:
                    yield (*whole, kind, instead)


def _is_declared(code, at, arguments):
    """A function's own head, or a lambda's."""
    before = code[max(0, at - 30) : at].rstrip()
    return before.endswith(("::", "Value*", "const auto", "*")) or not all(arguments)


def _barriers(code):
    for match in re.finditer(r"gpu_\.barrier\(\);", code):
        yield match.start(), match.end(), BARRIER, ""


def sites(path):
    """[(begin, end, kind, what stands there instead)] in the order of the text."""
    text = (ROOT / path).read_text()
    code = _blanked(text)
    found = [*_barriers(code), *_calls(code, text)]
    for where, pattern, kind, instead in PLAIN:
        if where in path:
            found += [(m.start(1), m.end(1), kind, instead) for m in re.finditer(pattern, code)]
    return sorted(found)


def faults():
    """{number: (kind, path, line, what stood there, what stands there, the source's line)}"""
    listed = {}
    for path in SOURCES:
        text = (ROOT / path).read_text()
        for begin, end, kind, instead in sites(path):
            line = text.count("\n", 0, begin) + 1
            whole = text.splitlines()[line - 1].strip()
            was, now = (" ".join(piece.split()) for piece in (text[begin:end], instead))
            listed[len(listed) + 1] = (kind, path, line, was, now, whole)
    return listed


def with_switches(path, first):
    """The source, each place a choice between what is right and its faults, which count from `first`."""
    text = (ROOT / path).read_text()
    numbered = [(*site, first + i) for i, site in enumerate(sites(path))]
    return f'{SWITCH}#line 1 "{ROOT / path}"\n{_replaced(text, 0, len(text), numbered)}'


def _replaced(text, begin, end, numbered):
    """The piece with choices in it; places lie in each other, and a fault takes what it has as it stands."""
    made, at = "", begin
    inside = [site for site in numbered if begin <= site[0] and site[1] <= end]
    while inside:
        start, stop = inside[0][0], max(site[1] for site in inside if site[0] == inside[0][0])
        here = [site for site in inside if site[0] == start and site[1] == stop]
        within = [site for site in inside if site[0] >= start and site[1] <= stop and site not in here]
        right = _replaced(text, start, stop, within)
        for _, _, kind, instead, number in here:
            if kind == BARRIER:
                right = f"if (!fault_is_planted({number})) {right}"
            else:
                right = f"(fault_is_planted({number}) ? ({instead}) : ({right}))"
        made += text[at:start] + right
        at = stop
        inside = [site for site in inside if site[0] >= stop]
    return made + text[at:end]


def write(folder):
    """The copies; unchanged ones stay as old as they are."""
    first = 1
    for path in SOURCES:
        copy = folder / path
        text = with_switches(path, first)
        first += len(sites(path))
        if not copy.exists() or copy.read_text() != text:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)


def build():
    write(BUILD / "planted")
    package = BUILD / "package/minidynamo"
    shutil.copytree(ROOT / "python/minidynamo", package, ignore=shutil.ignore_patterns("*.so"), dirs_exist_ok=True)
    options = ["-DMINIDYNAMO_SCHEDULE_FAULTS=ON", f"-DMINIDYNAMO_OUTPUT_DIR={package}"]
    command = [ROOT / "tools/build", BUILD.name, *options, "--", "_C", "cuda_emulated"]
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    build()
