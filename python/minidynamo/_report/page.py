"""The page: the model is cut to what fits into one file, said in words, and put into the templates."""

import base64
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

from . import drawing, sentences, timeline, words
from .places import Sources
from .source_view import source_rows

TEMPLATES = Path(__file__).parent / "templates"
_MOST = {"functions": 300, "sources": 60, "breaks": 150, "recompilations": 150, "entries": 60, "kernels": 80, "ops": 25}
_MOST_GUARDS, _MOST_CODE, _MOST_FIXES, _MOST_LINKS = 80, 24_000, 40, 8
_MOST_TRACE = 8000  # parts in the page; `--timeline` writes all
_BUDGET = 6_000_000  # characters of texts that may be cut
_LONGEST_TEXT, _SHORTEST_TEXT = 700, 80
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_CODE = re.compile(r"GB\d{4}", re.ASCII)
_TICKS = re.compile(r"`([^`]+)`")


class Budget:
    """How many characters there are left for texts of the program."""

    def __init__(self, characters=_BUDGET):
        self._left = characters

    def cut(self, text, most):
        """(the text as far as it fits, what to say of the rest)"""
        fits = max(min(most, self._left), 0)
        self._left -= min(len(text), fits)
        if len(text) <= fits:
            return Whole(text), ""
        return Whole(text[:fits]), f"{words.amount(len(text) - fits)} more characters are left out."

    def shown(self, value):
        """What an expression of a template becomes: texts have a greatest length, a small one when much was shown."""
        if not isinstance(value, str) or isinstance(value, Whole) or hasattr(value, "__html__"):
            return value
        most = _LONGEST_TEXT if self._left > 0 else _SHORTEST_TEXT
        self._left -= 2 * min(len(value), most)
        return value if len(value) <= most else value[:most] + "…"


class Whole(str):
    """A text that was cut already."""


def render(model, settings=()):
    """The whole page as bytes. ImportError without jinja2."""
    import jinja2
    from markupsafe import Markup, escape

    budget = Budget()
    environment = jinja2.Environment(
        finalize=budget.shown,
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters.update(duration=words.duration, amount=words.amount, many=words.many, share=words.share)
    environment.filters["sentence"] = words.sentence
    environment.filters["ticks"] = lambda text: Markup(_TICKS.sub(r"<code>\1</code>", str(escape(budget.shown(text)))))
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    view = {
        **_view(model, budget), "settings": settings, "script": Markup(script), "script_hash": f"sha256-{digest}",
        "style": Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
        "trace": Markup(_in_script(timeline.trace(model, _MOST_TRACE))),
    }  # fmt: skip
    text = environment.get_template("page.html").render(view)
    return _CONTROL.sub("\ufffd", text).encode("utf-8", "replace")


def _in_script(data):
    """JSON that nothing in it can end the script element of."""
    text = json.dumps(data, default=str, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _first(rows, name, left_out):
    """As many as there is room for; the others are counted."""
    most = _MOST[name]
    if len(rows) > most:
        left_out[name] = [f"{words.amount(len(rows) - most)} more that cost less are left out; --json writes all."]
    return rows[:most]


def _view(model, budget):
    left_out = {name: [] for name in (*_MOST, "timeline", "run")}
    sources = Sources(model["program"]["time"])
    for file, text in model["sources"].items():
        sources.given(file, text)
    entries = _entries(model, budget, left_out)
    shown = {entry["id"]: entry for entry in entries}
    return {
        "families": sentences.families(entries),
        "model": model, "left_out": left_out, "title": sentences.title(model), "sentence": sentences.about(model),
        "waits": sentences.waits(model), "ended": sentences.ended(model), "shares": sentences.shares(model),
        "functions": _functions(model, sources, budget, left_out), "breaks": _breaks(model, shown, budget, left_out),
        "recompiles": _first(model["recompiles"], "recompilations", left_out), "entries": entries,
        "kernels": _kernels(model, shown, left_out), "ops": _first(model["ops"], "ops", left_out),
        "processes": model["processes"][:100],
        **_timeline(model, left_out),
    }  # fmt: skip


def _functions(model, sources, budget, left_out):
    shown = {met["id"] for met in model["breaks"][: _MOST["breaks"]]}
    shown |= {each["id"] for each in model["recompiles"][: _MOST["recompilations"]]}
    times = _kernel_times(model)
    rows = []
    for k, function in enumerate(_first(model["functions"], "functions", left_out)):
        lines = source_rows(function, model, sources, budget, shown, times) if k < _MOST["sources"] else None
        rows.append({**function, "lines": lines, "open": k < 3, "facts": sentences.of_function(function, model)})
    return rows


def _kernel_times(model):
    """{(file, line): seconds in kernels}: a kernel's time in equal parts on the lines that its ops come from."""
    times = {}
    for kernel in model["kernels"]:
        for line in kernel["lines"]:
            key = (line["file"], line["line"])
            times[key] = times.get(key, 0.0) + kernel["seconds"] / len(kernel["lines"])
    return times


def _breaks(model, entries, budget, left_out):
    from .._dynamo import message
    from ..registry import programs

    rows, fixed = [], {}
    for met in _first(model["breaks"], "breaks", left_out):
        code, fix = met["code"], None
        known = code is not None and _CODE.fullmatch(code)
        if known and code not in fixed and len(fixed) < _MOST_FIXES:
            fix = _whole(programs.pair(code), budget)
            fixed[code] = met["id"] if fix is not None else None
        links = {
            f"{name}_links": [entries[each] for each in met[name] if each in entries][:_MOST_LINKS]
            for name in ("before", "after")
        }
        number = int(code[2:]) if known else -1
        rows.append(
            {**met, **links, "fix": fix, "fix_at": fixed.get(code) if fix is None else None,
             "facts": sentences.of_break(met, model["has_costs"]),
             "link": message.link(number) if known and message.is_published(number) else ""}
        )  # fmt: skip
    return rows


def _whole(pair, budget):
    if pair is None:
        return None
    before, after = [budget.cut(text or "", _MOST_CODE)[0] for text in (pair.before, pair.after)]
    return {"before": before, "after": after}


def _entries(model, budget, left_out):
    order = {(f["file"], f["line"]): k for k, f in enumerate(model["functions"])}
    ranked = sorted(model["entries"], key=lambda e: order.get((e["file"], e["line"]), len(order)))
    costs = {}
    for kernel in model["kernels"]:
        key = (kernel["process"], kernel["compile_id"])
        costs.setdefault(key, {})[kernel["name"]] = f"{kernel['calls']:,} x, {words.duration(kernel['seconds'])}"
    rows = []
    for entry in _first(ranked, "entries", left_out):
        code, code_left_out = budget.cut(entry["code"], _MOST_CODE)
        output, output_left_out = budget.cut(entry["output_code"], _MOST_CODE)
        bytecode, bytecode_left_out = budget.cut(entry["bytecode"], _MOST_CODE)
        guards = entry["guards"][:_MOST_GUARDS]
        more = len(entry["guards"]) - len(guards)
        rows.append(
            {**entry, "title": sentences.entry_title(entry), "facts": sentences.of_entry(entry),
             "open": not entry["entry"],
             "resume_code": budget.cut(entry["resume_code"], _MOST_CODE)[0],              "code": code,
             "code_left_out": code_left_out, "output_code": output, "output_left_out": output_left_out,
             "bytecode": bytecode, "bytecode_left_out": bytecode_left_out,
             "guards_shown": [[budget.cut(each, 400)[0] for each in row] for row in guards],
             "guards_left_out": f"{words.amount(more)} more are left out." if more else "",
             "pictures": _pictures(entry, costs.get((entry["process"], entry["compile_id"]), {}), budget)}
        )  # fmt: skip
    return rows


def _pictures(entry, costs, budget):
    """Those of its graphs. Kernels of one name were measured together: their boxes say how many they are."""
    alike = Counter(kernel["name"] for graph in entry["graphs"] for kernel in graph["kernels"])
    told = {name: cost if alike[name] < 2 else f"{alike[name]} alike: {cost}" for name, cost in costs.items()}
    return [_picture(graph, told, _programs(entry, graph, budget)) for graph in entry["graphs"]]


def _programs(entry, graph, budget):
    """What the graph would be on other processors."""
    rows = []
    for program in entry["programs"]:
        if (program["graph"], program["direction"]) == (graph["name"], graph["direction"] or "Forward"):
            kernels = [
                {"facts": kernel["facts"], "text": text, "left_out": left_out}
                for kernel in program["kernels"]
                for text, left_out in [budget.cut(kernel["text"], _MOST_CODE)]
            ]
            title = f"On {program['target']}: {words.many(len(kernels), 'launch', 'launches')}"
            rows.append({"title": title, "why": program["why"], "kernels": kernels})
    return rows


def _picture(graph, costs, programs):
    kernels = len(graph["kernels"])
    what = words.many(len(graph["nodes"]), "operation")
    title = f"{graph['direction']} graph" if graph["direction"] else "Graph"
    title = f"{title}: {what}" + (f", {words.many(kernels, 'kernel')}" if kernels else "")
    return {
        "title": title,
        "label": f"{title}. The same as text stands below.",
        "picture": drawing.picture(graph, costs),
        "programs": programs,
    }


def _kernels(model, entries, left_out):
    best, rows = model["totals"]["copy_bandwidth"], []
    for kernel in _first(model["kernels"], "kernels", left_out):
        rate = kernel["bytes"] / kernel["seconds"] if kernel["seconds"] and kernel["bytes"] else None
        rows.append(
            {**kernel, "each": kernel["seconds"] / kernel["calls"] if kernel["calls"] else None,
             "size": words.size(kernel["bytes"]) if kernel["bytes"] else "-",
             "rate": f"{rate / 1e9:.1f}" if rate else "-", "share": rate / best if rate and best else None,
             "entry": kernel["entry"] if kernel["entry"] in entries else None}
        )  # fmt: skip
    return rows


def _timeline(model, left_out):
    found = model["timeline"]
    whole, several = found["seconds"] or 1.0, len(model["processes"]) > 1
    lanes, undrawn = timeline.lanes(found)
    rows = []
    for process, category, title, parts in lanes:
        drawn = [
            {"x": f"{10000 * part['start'] / whole:.1f}", "width": f"{max(10000 * part['seconds'] / whole, 2):.1f}",
             "title": f"{part['name']}: {words.duration(part['seconds'])} at {words.duration(part['start'])}"}
            for part in parts
        ]  # fmt: skip
        name = f"{title} ({model['processes'][process]['pid'] or process})" if several else title
        rows.append({"category": category, "title": name, "parts": drawn,
                     "label": f"{name}: {words.many(len(parts), 'part')}"})  # fmt: skip
    if undrawn:
        left_out["timeline"].append(f"{words.many(undrawn, 'short part')} not drawn.")
    if len(found["parts"]) > _MOST_TRACE:
        left_out["timeline"].append(
            f"The file for Perfetto that this page saves has the {words.amount(_MOST_TRACE)} longest parts; "
            "--timeline FILE writes all."
        )
    if found["left_out"]:
        left_out["timeline"].append(
            f"Of parts that happen very often some are kept only: {words.amount(found['left_out'])} are not here."
        )
    return {"lanes": rows, "ticks": [words.duration(whole * k / 5) for k in range(6)]}
