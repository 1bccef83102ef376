"""The reference pages, example by example: what is one graph, what breaks and with which code, what is skipped.

The programs are those of tests/pages/programs, one for each example of the five pages (tests/pages/examples.toml); the
tests compare their logs line by line. Here each runs once, and its graphs and graph-break codes are counted.
"""

import contextlib
import io
import logging
import pathlib
import re
import runpy
import sys
import tomllib
import warnings

import minidynamo as torch
from minidynamo import registry

PAGES = pathlib.Path(__file__).resolve().parents[1] / "tests/pages"


def run(program):
    """(graphs compiled, codes seen, text printed) of one program."""
    settings = torch._dynamo.config.get_config_copy()
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    printed, logged = io.StringIO(), []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    torch._logging.set_logs(graph_breaks=True)
    logging.getLogger("minidynamo").addHandler(handler)
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            runpy.run_path(str(PAGES / "programs" / f"{program}.py"), run_name="__main__")
        finally:
            for name, value in settings.items():
                setattr(torch._dynamo.config, name, value)
            torch._logging.set_logs()
            logging.getLogger("minidynamo").removeHandler(handler)
    counters = torch._dynamo.utils.counters
    said = printed.getvalue() + "".join(logged)
    codes = sorted({code.upper() for code in re.findall(r"/(gb\d{4})\.html", said)})
    return counters["stats"]["unique_graphs"], codes, printed.getvalue()


def main():
    pages = tomllib.loads((PAGES / "examples.toml").read_text())["page"]
    done, ran, seen = 0, {}, set()
    for page in pages:
        print(f"\n{page['title']}")
        for example in page["example"]:
            program = example["program"]
            if program not in ran:
                ran[program] = run(program)
            graphs, codes, printed = ran[program]
            if not printed:
                sys.exit(f"MISMATCH {program}: it printed nothing")
            listing = program == "registry"  # it names all codes; only the one it raises counts
            codes = [c for c in codes if not listing or c == "GB0124"]
            seen.update(codes)
            done += 1
            print(f"  {example['number']}  {example['shows']:58} graphs {graphs}  {' '.join(codes)}")
    print(f"\n{done} of {sum(page['examples'] for page in pages)} examples ran. The codes they met:")
    for code in sorted(seen):
        print(f"  {code}  {registry.lookup(code)[0].type}")


if __name__ == "__main__":
    main()
