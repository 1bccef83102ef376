"""A function that breaks its graph in five ways, and what the compiler says about each.

The program runs correctly all the same: between the breaks it runs compiled, at a break as plain Python.
"""

import gc
import re

import numpy as np
from measure import arguments, best_seconds, print_times

import minidynamo as torch
from minidynamo import registry


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


def report(explanation):
    for number, reason in enumerate(explanation.break_reasons, 1):
        place = reason.user_stack[-1]
        code = re.search(r"gb/(gb\d{4})\.html", reason.reason)
        function = re.sub(r"torch_dynamo_resume_in_(.*)_at_\d+", r"\1", place.name)
        print(f"\nBreak {number}: line {place.lineno} of {function}:  {place.line}")
        if code is None:
            print(f"  {reason.reason.splitlines()[0]}")
            continue
        name = code.group(1).upper()
        print(f"  {name}  {registry.lookup(name)[0].type}")
        for label, text in re.findall(r"^  (Explanation|Hint): (.*)$", reason.reason, re.MULTILINE):
            print(f"  {'why' if label == 'Explanation' else 'fix'}: {text}")


def main():
    options = arguments(__doc__.split("\n")[0])
    size = 1_000 if options.quick else 200_000
    array = np.random.default_rng(3).standard_normal(size).astype(np.float32)
    x, weight = torch.from_numpy(array), torch.full((size,), 0.7)

    explanation = torch._dynamo.explain(train_step)(x, weight)
    print(f"\n{explanation.graph_count} graphs, {explanation.graph_break_count} graph breaks", end="")
    print(f", {explanation.op_count} operations in graphs")
    report(explanation)

    print("\nThe summary explain() prints, up to its guards:\n")
    print(str(explanation).partition("Out Guards:")[0])

    compiled = torch.compile(train_step)
    one_graph = torch.compile(without_breaks, fullgraph=True)
    plain = train_step(x, weight)
    assert torch.equal(compiled(x, weight), plain)
    assert torch.allclose(one_graph(x, weight), plain, rtol=1e-5, atol=1e-5)
    print("Results equal those of plain Python; without the breaks:")
    print_times(
        [
            ("one graph", best_seconds(lambda: one_graph(x, weight), 3)),
            ("plain (eager)", best_seconds(lambda: without_breaks(x, weight), 3)),
        ]
    )


if __name__ == "__main__":
    main()
