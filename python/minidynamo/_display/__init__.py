"""What notebooks show of tensors, explanations, graphs and registry entries: HTML of bounded size.

Each function gives None where it has nothing to add to the object's text, which notebooks show then; so does everything
where jinja2 is not installed. Colours are those of the page around: one look for light and dark.
"""

import functools
import re
import sys

from .. import _C

_LONGEST_TEXT = 20_000  # characters of one text
_MOST_LINES = 300  # of a graph's code
_MOST = 40  # breaks and graphs of one explanation
_CODE = re.compile(r"\bexplain (GB\d{4})\b")


@functools.cache
def _environment():
    try:
        import jinja2
    except ImportError:
        return None
    found = jinja2.Environment(
        loader=jinja2.PackageLoader(__name__), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    found.filters["bounded"] = _bounded
    return found


def _filled(template, **values):
    environment = _environment()
    return None if environment is None else environment.get_template(template).render(values)


def _bounded(text, lines=_MOST_LINES):
    text = str(text)
    shown = text[:_LONGEST_TEXT].splitlines()[:lines]
    left = len(text.splitlines()) - len(shown)
    if left > 0 or len(text) > _LONGEST_TEXT:
        shown.append(f"... {left} more lines" if left > 0 else "...")
    return "\n".join(shown)


def tensor(t):
    """Its text, under a line with shape, dtype and device. Classes of the program's own have their own texts."""
    parameters = sys.modules.get(f"{__package__.partition('.')[0]}.nn.parameter")
    is_parameter = parameters is not None and type(t) is parameters.Parameter
    if type(t) is not _C.Tensor and not is_parameter:
        return None
    about = [str(t.dtype).removeprefix("torch.").removeprefix("minidynamo."), str(t.device)]
    if t.requires_grad:
        about.append("requires grad")
    if is_parameter:
        about.insert(0, "Parameter")
    return _filled("tensor.html", shape=" × ".join(map(str, t.shape)) or "one number", about=about, text=repr(t))


def _reason(reason, plain_name):
    """A break's text in its parts."""
    first, *lines = reason.reason.splitlines() or [""]
    code = _CODE.search(reason.reason)
    parts = {"title": first, "code": code and code[1], "explanation": "", "hints": [], "frames": []}
    for line in lines:
        name, _, text = line.strip().partition(": ")
        if name == "Explanation":
            parts["explanation"] = text
        elif name == "Hint":
            parts["hints"].append(text)
    for frame in reason.user_stack[-_MOST:]:
        parts["frames"].append((f"{frame.filename}:{frame.lineno}", plain_name(frame.name), frame.line))
    return parts


def explanation(output, plain_name):
    """An ExplainOutput: what broke, where and what to do about it; the graphs, folded. `plain_name(name)` is what a
    function is called in the program."""
    return _filled(
        "explanation.html",
        output=output,
        reasons=[_reason(reason, plain_name) for reason in output.break_reasons[:_MOST]],
        left=max(len(output.break_reasons) - _MOST, 0),
        graphs=[str(getattr(graph, "code", graph)).strip() for graph in output.graphs[:_MOST]],
    )


def graph_module(module):
    """Its code."""
    nodes = sum(1 for node in module.graph.nodes if node.op.startswith("call"))
    return _filled("graph.html", name=type(module).__name__, nodes=nodes, code=module.code)


def graph_break(row):
    """A text of the registry."""
    return _filled("graph_break.html", row=row)
