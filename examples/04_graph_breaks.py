"""A function that breaks its graph in five ways, and what the compiler says about each.

The program runs correctly all the same: between the breaks it runs compiled, at a break as plain Python.
"""

import contextlib
import gc
import io
import pathlib
import re
import sys
import textwrap

import numpy as np
from measure import begin, check, print_times, race

import minidynamo as torch


@torch._dynamo.disable
def audit(x):
    """Not to be compiled: somebody wants to step through it."""
    return x * 1.0


def train_step(x, weight):
    score = torch.tanh(x * weight)
    loss = (score * score).mean()
    print(f"  loss has {loss.dim()} dimensions")  # 1: output while tracing would come at the wrong time
    scaled = score / loss
    level = gc.get_threshold()[0]  # 2: a function written in C
    scaled = audit(scaled + min(level, 4))  # 3: the program says so
    if scaled.sum() > 0:  # 4: the content of a tensor decides
        scaled = scaled * 0.5
    step = loss.item()  # 5: a tensor becomes a Python number
    return scaled - step


def without_breaks(x, weight):
    """The same numbers in one graph: what the hints lead to."""
    score = torch.tanh(x * weight)
    loss = (score * score).mean()
    scaled = score / loss + 4.0
    scaled = torch.where(scaled.sum() > 0, scaled * 0.5, scaled)
    return scaled - loss


def train_step_numpy(x, weight):
    score = np.tanh(x * weight)
    loss = (score * score).mean()
    scaled = score / loss + np.float32(4)
    return (scaled * np.float32(0.5) if scaled.sum() > 0 else scaled) - loss


def report(explanation):
    """Code, place, reason and fix of every break."""
    for number, reason in enumerate(explanation.break_reasons, 1):
        place = reason.user_stack[-1]
        code = re.search(r"gb/(gb\d{4})\.html", reason.reason)
        function = re.sub(r"torch_dynamo_resume_in_(.*)_at_\d+", r"\1", place.name)
        title = reason.reason.splitlines()[0]
        print(f"\nBreak {number}: {code.group(1).upper() if code else 'no code'}  {title}")
        entry("place", f"{pathlib.Path(place.filename).name}:{place.lineno}, in {function}")
        entry("", place.line)
        for label, text in re.findall(r"^  (Explanation|Hint): (.*)$", reason.reason, re.MULTILINE):
            entry("reason" if label == "Explanation" else "fix", text)


def entry(label, text):
    print(textwrap.fill(text, 110, initial_indent=f"  {label:<8}", subsequent_indent=" " * 10))


def quiet(function, *args):
    """Calls it with what it prints thrown away."""
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*args)


def main():
    options = begin(__doc__)
    size = 1_000 if options.quick else 1_000_000
    array = np.random.default_rng(3).standard_normal(size).astype(np.float32)
    x = torch.from_numpy(array).to(options.device)
    weight = torch.full((size,), 0.7, device=options.device)

    print("The first run, traced by explain(). What comes before its report is what a user sees unasked:", flush=True)
    explanation = torch._dynamo.explain(train_step)(x, weight)
    sys.stderr.flush()
    print(f"\n{explanation.graph_count} graphs, {explanation.graph_break_count} graph breaks", end="")
    print(f", {explanation.op_count} operations in graphs.")
    report(explanation)

    print("\nThe whole report of explain(), up to its guards:\n")
    print(textwrap.indent(str(explanation).partition("Out Guards:")[0].rstrip(), "  | ", lambda line: True))

    compiled = torch.compile(train_step)
    one_graph = torch.compile(without_breaks, fullgraph=True)
    weights = weight.numpy(force=True)
    ours, fixed = quiet(compiled, x, weight), one_graph(x, weight)
    check("compiled against NumPy", ours, train_step_numpy(array, weights), 1e-4, 1e-4)
    check("one graph against NumPy", fixed, train_step_numpy(array, weights), 1e-4, 1e-4)
    check("compiled against plain execution", ours, quiet(train_step, x, weight), 0, 0)
    print("\nChecked: with and without breaks equal to NumPy; with breaks equal to plain execution to the bit.\n")

    contestants = [
        ("with breaks, compiled", lambda: quiet(compiled, x, weight)),
        ("with breaks, plain", lambda: quiet(train_step, x, weight)),
        ("NumPy", lambda: train_step_numpy(array, weights)),
        ("no breaks, compiled", lambda: one_graph(x, weight)),
        ("no breaks, plain", lambda: without_breaks(x, weight)),
    ]
    print_times(race(contestants, 3 if options.quick else 30, options.device))


if __name__ == "__main__":
    main()
