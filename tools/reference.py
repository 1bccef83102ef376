"""Writes docs/reference/: the public functions of the compiler, from their docstrings; its settings, variables, logs.

    .venv/bin/python tools/reference.py [--check]

What a function does, takes and raises stands in its docstring and nowhere else; what settings, variables and logs mean
in tools/reference_texts.toml. --check writes nothing and fails if a page is not what would be written.
"""

import enum
import importlib
import inspect
import os
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, os.environ.get("MINIDYNAMO_PACKAGES") or str(ROOT / "python"))
for name in [n for n in os.environ if n.startswith(("MINIDYNAMO_", "TORCH"))]:  # settings are shown as they are without
    del os.environ[name]

import minidynamo as torch  # noqa: E402

TARGET = ROOT / "docs/reference"
TEXTS = tomllib.loads((ROOT / "tools/reference_texts.toml").read_text(encoding="utf-8"))
MADE = "Written by `tools/reference.py` from the docstrings; do not edit."
# page: (title, what it is about, [(module, names; None: all that are public)])
PAGES = {
    "compile": (
        "Compiling functions",
        "`minidynamo.compile` and the names of `minidynamo.compiler`.",
        [("", ("compile", "install_as_torch")), ("compiler", None)],
    ),
    "process": (
        "Threads, random numbers, gradients, files",
        "Names of `minidynamo` that set something for a process, a thread or a block, and what leads in and out.",
        [
            (
                "",
                (
                    *("set_num_threads", "get_num_threads", "manual_seed", "seed", "initial_seed", "get_rng_state"),
                    *("set_rng_state", "fork_rng", "Generator", "set_default_dtype", "get_default_dtype"),
                    *("set_default_device", "get_default_device", "no_grad", "enable_grad", "inference_mode"),
                    *("set_grad_enabled", "is_grad_enabled", "autocast", "use_deterministic_algorithms"),
                    *("set_printoptions", "from_numpy", "from_dlpack", "as_tensor", "save", "load", "finfo", "iinfo"),
                ),
            )
        ],
    ),
    "dynamo": (
        "Controlling the tracer",
        "Names of `minidynamo._dynamo`: what is traced, what is not, and what became of it.",
        [("_dynamo", None), ("_dynamo.decorators", ("mark_unbacked",)), ("_dynamo.comptime", None)],
    ),
    "counters": (
        "What the compiler did, as numbers",
        "Names of `minidynamo._dynamo.utils` and backends that count.",
        [
            ("_dynamo.utils", ("CompilationMetrics", "RecompileReason", "clear_compilation_metrics", "compile_times",
                               "disable_cache_limit", "get_compilation_metrics", "preserve_rng_state", "timed")),
            ("_dynamo.testing", ("AotEagerAndRecordGraphs", "CompileCounter", "CompileCounterWithBackend",
                                 "EagerAndRecordGraphs", "InductorAndRecordGraphs", "same")),
            ("_dynamo.output", None),
        ],
    ),
    "control_flow": (
        "Branches and loops in graphs",
        "`minidynamo.cond`, and the operators of `minidynamo._higher_order_ops`.",
        [("_higher_order_ops", ("cond", "while_loop", "scan", "associative_scan", "map", "strict_mode"))],
    ),
    "func": ("Functions of functions", "Names of `minidynamo.func`.", [("func", None)]),
    "library": ("Operators of your own", "Names of `minidynamo.library`.", [("library", None)]),
    "export": ("Exported programs", "Names of `minidynamo.export`.", [("export", None)]),
    "fx": ("Graphs", "Names of `minidynamo.fx`: what backends are given.", [("fx", None)]),
    "checkpoint": (
        "Less memory in training",
        "Names of `minidynamo.utils.checkpoint`.",
        [("utils.checkpoint", ("checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
                               "CheckpointPolicy", "SelectiveCheckpointContext", "CheckpointError"))],
    ),
    "profiler": (
        "Profiles and measurements",
        "Names of `minidynamo.profiler` (times in microseconds) and `minidynamo.utils.benchmark` (seconds).",
        [("profiler", None), ("utils.benchmark", None)],
    ),
    "registry": ("The registry of graph breaks", "Names of `minidynamo.registry`.", [("registry", None)]),
    "exceptions": ("Exceptions", "Exceptions of the compiler, in `minidynamo._dynamo.exc`.", [("_dynamo.exc", None)]),
}  # fmt: skip
FURTHER = {
    "config": ("Settings", "`minidynamo._dynamo.config`: how they are set, what they mean, their defaults."),
    "environment": ("Environment variables", "What is read from the environment, when the package is imported."),
    "logs": ("Logs", "Names for `MINIDYNAMO_LOGS` and `minidynamo._logging.set_logs()`."),
}


# Modules without `__all__` whose names are defined elsewhere.
MIRRORS = ("minidynamo.func", "minidynamo.fx", "minidynamo.profiler")


class Incomplete(ValueError):
    """Something public has no text."""


def module_of(place):
    return importlib.import_module(f"minidynamo.{place}" if place else "minidynamo")


def public_names(module):
    """Functions and classes of the package, from the module itself where it has no `__all__`."""
    given = getattr(module, "__all__", None)
    for name in sorted(given or (n for n in dir(module) if not n.startswith("_")), key=str.lower):
        thing = getattr(module, name)
        owner = getattr(thing, "__module__", None) or ""
        if callable(thing) and not inspect.ismodule(thing) and owner.startswith("minidynamo"):
            if given or owner == module.__name__ or module.__name__ in MIRRORS:
                yield name


def signature(name, thing):
    """As it is called; what only shows where an object lies is left out."""
    try:
        shown = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return name
    shown = re.sub(r"<function (\S+) at 0x\w+>", lambda m: m[1].rpartition(".")[2], shown)
    shown = re.sub(r"<(?:class|built-in function) '?([\w.]+)'?>", r"\1", shown)
    shown = re.sub(r" at 0x\w+", "", shown).replace("<lambda>", "...").replace("minidynamo.", "torch.")
    return f"{name}{re.sub(r' -> None$', '', shown)}"


def own_doc(thing):
    """The docstring of a thing itself, not one that its class or a base has."""
    doc = inspect.getdoc(thing) if thing.__doc__ else None
    inherited = isinstance(thing, type) and any(thing.__doc__ == base.__doc__ for base in thing.__mro__[1:])
    return None if inherited or not doc else doc


def in_markdown(text):
    """Prose of a docstring: what stands outside of backticks must not be taken for marks."""
    parts = re.split(r"(`[^`]+`)", text)
    for i in range(0, len(parts), 2):  # a function that is named is code, too
        parts[i] = re.sub(r"(?<![\w.])([A-Za-z_][\w.]*\(\))", r"`\1`", parts[i])
    parts = re.split(r"(`[^`]+`)", "".join(parts))
    for i in range(0, len(parts), 2):
        marked = re.sub(r"([\\*<\[\]|#]|(?<!\w)_|_(?!\w))", r"\\\1", parts[i])
        parts[i] = re.sub(r"docs/(\w+\.md)", r"[docs/\1](../\1)", marked)
    return "".join(parts)


def paragraphs(doc):
    for part in doc.split("\n\n"):
        if re.search(r"^ {4}", part, re.MULTILINE):
            yield f"```text not run: part of a docstring\n{inspect.cleandoc(part)}\n```"
        else:
            yield in_markdown(" ".join(part.split()))


def methods(cls):
    """Public methods and properties a class itself defines, with the first paragraph of their docstrings."""
    for name, thing in vars(cls).items():
        function = thing.fget if isinstance(thing, property) else getattr(thing, "__func__", thing)
        if name.startswith("_") or not (inspect.isfunction(function) and function.__doc__):
            continue
        shown = name if isinstance(thing, property) else signature(name, function)
        shown = re.sub(r"\((self|cls)(, )?", "(", shown)
        yield f"- `{shown}`: {in_markdown(' '.join(inspect.getdoc(function).split(chr(10) + chr(10))[0].split()))}"


def entry(place, name):
    thing = getattr(module_of(place), name)
    doc = own_doc(thing)
    if doc is None:
        raise Incomplete(f"minidynamo.{place}.{name} has no docstring".replace("..", "."))
    members = [f"`{name}.{member.name}`" for member in thing] if isinstance(thing, enum.EnumMeta) else []
    first, _, rest = doc.partition("\n\n")
    if first.startswith(f"{name}(") and first.endswith(")"):  # functions of the op table tell it themselves
        shown, doc = " ".join(first.split()), rest
    elif found := re.match(rf"({name}\([^)]*\)): (.*)", doc, re.DOTALL):
        shown, doc = found[1], found[2][0].upper() + found[2][1:]
    else:
        shown = signature(name, thing)
    lines = [f"### {name}", "", ", ".join(members) or f"`{shown}`", ""]
    if isinstance(thing, type) and issubclass(thing, BaseException):
        bases = ", ".join(f"`{base.__name__}`" for base in thing.__bases__)
        lines += [f"An exception below {bases}.", ""]
    for paragraph in paragraphs(doc):
        lines += [paragraph, ""]
    if isinstance(thing, type):
        found = list(methods(thing))
        lines += [*found, ""] if found else []
    return lines


def page(key):
    title, about, parts = PAGES[key]
    lines = [f"# {title}", "", f"{about} {MADE}", ""]
    shown = set()
    for place, names in parts:
        names = [n for n in names or public_names(module_of(place)) if getattr(module_of(place), n) not in shown]
        shown |= {getattr(module_of(place), n) for n in names}
        lines += [f"## minidynamo{'.' + place if place else ''}", ""]
        for name in names:
            lines += entry(place, name)
    return "\n".join(lines).rstrip("\n") + "\n"


def demand(what, named, texts):
    """Every name has a text, every text its name."""
    missing, idle = sorted(set(named) - set(texts)), sorted(set(texts) - set(named))
    if missing or idle:
        raise Incomplete(f"tools/reference_texts.toml, {what}: without text: {missing}; of nothing: {idle}")


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def config_page():
    config = torch._dynamo.config
    values = config.get_config_copy()
    read = {n: v for n, v in values.items() if n not in config.NO_EFFECT}
    demand("settings", read, TEXTS["settings"])
    title, about = FURTHER["config"]
    lines = [f"# {title}", "", f"{about} Written by `tools/reference.py`; do not edit.", ""]
    lines += [
        "- `config.NAME = value` sets the default of the process, `del config.NAME` brings back the package's.",
        "- `config.patch(NAME=value)` is a context manager and a decorator, for the thread or task it is used in. It",
        "  belongs around the calls: a compilation reads all settings once, at its beginning.",
        "- A name that does not exist raises AttributeError, an int or str of another type TypeError.",
        "",
        "| setting | default | |",
        "|---|---|---|",
    ]
    default = {"verbose", "disable", "suppress_errors", "capture_scalar_outputs", "capture_dynamic_output_shape_ops"}
    for name in sorted(read, key=str.lower):
        note = " (or by the environment)" if name in default | {"background_compile"} else ""
        lines.append(f"| `{name}` | `{cell(repr(read[name]))}`{note} | {cell(TEXTS['settings'][name])} |")
    lines += ["", "## Without effect", ""]
    lines += [
        "Settings of torch that may be set, and what holds here instead. Setting one to another value warns once.",
        "",
    ]
    lines += ["| setting | default | |", "|---|---|---|"]
    for name in sorted(config.NO_EFFECT, key=str.lower):
        lines.append(f"| `{name}` | `{cell(repr(values[name]))}` | {cell(config.NO_EFFECT[name])} |")
    return "\n".join(lines) + "\n"


def variables_in_sources():
    """Names of the environment that the package reads, as far as they are its own."""
    found = set()
    for folder in ("python/minidynamo", "ir", "backend", "frontend", "registry"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix == ".py":
                text = path.read_text(encoding="utf-8")
                found |= set(re.findall(r"\"(MINIDYNAMO_\w+)\"", text))
            elif path.suffix in (".cpp", ".h"):
                found |= set(re.findall(r"getenv\(\"(MINIDYNAMO_\w+)\"", path.read_text(encoding="utf-8")))
    return {name for name in found if not name.startswith("MINIDYNAMO_MUTATE")}  # only in the build for make mutate


def environment_page():
    demand("environment", variables_in_sources(), TEXTS["environment"])
    title, about = FURTHER["environment"]
    lines = [f"# {title}", "", f"{about} Written by `tools/reference.py`; do not edit.", ""]
    lines += ["1, true, on and yes mean yes, everything else no.", "", "| variable | |", "|---|---|"]
    lines += [f"| `{name}` | {cell(text)} |" for name, text in sorted(TEXTS["environment"].items())]
    return "\n".join(lines) + "\n"


def logs_page():
    from minidynamo._logging import names

    known = [n for n in names.BITS if n in names.ARTIFACTS] + ["compiled_autograd", "cudagraphs", "kernel_code"]
    demand("logs", known, TEXTS["logs"])
    title, about = FURTHER["logs"]
    lines = [f"# {title}", "", f"{about} Written by `tools/reference.py`; do not edit.", ""]
    lines += [
        "`MINIDYNAMO_LOGS=graph_breaks,+dynamo` in the environment, or in a program",
        "`minidynamo._logging.set_logs(graph_breaks=True, dynamo=logging.DEBUG)`, which replaces what was set before.",
        "",
        "A name with `+` in front is a component at level DEBUG, with `-` at ERROR, without at INFO.",
        "",
        *entry("_logging", "set_logs"),
        "## Texts", "", "| name | shows |", "|---|---|",
    ]  # fmt: skip
    lines += [f"| `{name}` | {cell(TEXTS['logs'][name])} |" for name in sorted(known)]
    silent = ", ".join(f"`{n}`" for n in sorted(set(names.ARTIFACTS) - set(known)))
    lines += ["", f"Names of torch that may be asked for, and stay silent: {silent}.", "", "## Components", ""]
    lines += [
        f"- `{name}`: {', '.join(f'`{logger}`' for logger in loggers)}" for name, loggers in names.COMPONENTS.items()
    ]
    return "\n".join(lines) + "\n"


def index_page():
    lines = ["# Reference", ""]
    lines += [
        "Functions of the compiler, its settings, and what it says. What computes with tensors: [the API](../api.md).",
        "",
    ]
    lines += ["| page | about |", "|---|---|"]
    for key, (title, about, *_) in {**PAGES, **FURTHER}.items():
        lines.append(f"| [{title}]({key}.md) | {about} |")
    lines += [
        "",
        "`import minidynamo as torch` stands before all of it; the pages of the guide and messages write `torch`.",
        "",
    ]
    lines += [MADE]
    return "\n".join(lines) + "\n"


def pages():
    """{file name: text}"""
    made = {f"{key}.md": page(key) for key in PAGES}
    made.update({"config.md": config_page(), "environment.md": environment_page(), "logs.md": logs_page()})
    return {**made, "README.md": index_page()}


def main():
    made = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in TARGET.glob("*.md")}
    if "--check" in sys.argv:
        stale = sorted(n for n in made.keys() | there.keys() if made.get(n) != there.get(n))
        if stale:
            print(f"docs/reference/: {', '.join(stale)}: run .venv/bin/python tools/reference.py", file=sys.stderr)
        return int(bool(stale))
    TARGET.mkdir(exist_ok=True)
    for name in there.keys() - made.keys():
        (TARGET / name).unlink()
    for name, text in made.items():
        (TARGET / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
