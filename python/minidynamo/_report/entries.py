"""What was compiled: each entry of a function with its graphs, kernels, guards and what goes on after its break."""

from . import graph_text, resumed
from .collected import entry_of, root_of
from .places import short
from .programs import programs


def entries(events, sources):
    """A dictionary for each compilation, in the order in which they were made."""
    resumes = {(e["process"], entry_of(e["compile_id"])): e for e in events.by_kind["resume"]}
    backends = {(e["process"], entry_of(e["compile_id"])): e["backend"] for e in events.by_kind["graph"]}
    broken, elsewhere = {}, programs(events)
    for event in events.by_kind["break"]:
        for frame in event["stack"][:1]:
            broken[event["process"], frame["file"], root_of(frame["function"])[0], frame["line"]] = frame
    rows = []
    for event in events.by_kind["compile"]:
        key = (event["process"], entry_of(event["compile_id"]))
        texts, told = events.artifacts.get(key, {}), resumes.get(key)
        graphs = _graphs(texts)
        for graph in graphs:
            for node in graph["nodes"]:
                if node["code"]:
                    sources.remember(node["file"], node["line"], node["code"])
        root, at = root_of(event["function"])
        at_break = broken.get((key[0], event["file"], root, at))
        rows.append(
            {"id": f"entry-{len(rows) + 1}", "process": key[0], "compile_id": key[1], "function": root, "at": at,
             "file": event["file"], "line": event["line"], "short": short(event["file"]), "entry": event["entry"],
             "seconds": event["seconds"], "graphs": graphs, "resume": told,
             "code": _code(texts), "resume_code": resumed.python_of(sources, told, at_break) if told else "",
             "guards": [row for text in texts.get("guards", ()) for row in graph_text.guards(text)],
             "output_code": "\n".join(texts.get("output_code", ())), "bytecode": "\n".join(texts.get("bytecode", ())),
             "backend": backends.get(key, ""), "programs": elsewhere.get(key, [])}
        )  # fmt: skip
    return rows


def _code(texts):
    return "\n".join(text[max(text.find("def forward"), 0) :] for text in texts.get("graph_code", ())).rstrip()


def _graphs(texts):
    """The functional graphs with their kernels, where there are some; else the traced graph."""
    made = {}
    for text in texts.get("fusion", ()):
        direction, name, rows = graph_text.kernels(text)
        made[direction, name] = rows
    graphs = [graph_text.GraphText(text) for text in texts.get("aot_graphs", ())]
    graphs = [graph for graph in graphs if (graph.direction, graph.name) in made]
    if not graphs:
        graphs = [graph_text.GraphText(text) for text in texts.get("graph_code", ())]
    return [
        {"name": graph.name, "direction": graph.direction, "inputs": [list(each) for each in graph.inputs],
         "nodes": graph.nodes, "outputs": graph.outputs,
         "kernels": [{"name": name, "nodes": nodes} for name, nodes in made.get((graph.direction, graph.name), ())]}
        for graph in graphs
    ]  # fmt: skip


def kernels(events, found):
    """What each kernel cost, the dearest first, and the lines its ops come from."""
    where = {}
    for entry in found:
        for graph in entry["graphs"]:
            nodes = {node["name"]: node for node in graph["nodes"]}
            for kernel in graph["kernels"]:
                lines = {(nodes[n]["file"], nodes[n]["line"]): nodes[n]["code"] for n in kernel["nodes"] if n in nodes}
                key = (entry["process"], entry["compile_id"], kernel["name"])
                where.setdefault(key, {}).update({line: code for line, code in lines.items() if line[0]})
                where.setdefault((entry["process"], entry["compile_id"]), entry)
    rows = []
    for row in events.costs_of("kernel"):
        key = (row["process"], entry_of(row["compile_id"]))
        entry, lines = where.get(key), where.get((*key, row["name"]), {})
        rows.append(
            {"name": row["name"], "compile_id": key[1], "process": key[0], "calls": row["calls"],
             "seconds": row["seconds"], "bytes": row.get("bytes", 0), "threads": row.get("threads", 0),
             "entry": entry["id"] if entry else None, "function": entry["function"] if entry else row["function"],
             "lines": [{"file": f, "line": n, "short": short(f), "code": code} for (f, n), code in lines.items()]}
        )  # fmt: skip
    return sorted(rows, key=lambda r: -r["seconds"])
