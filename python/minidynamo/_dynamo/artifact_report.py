"""Texts of the log artifacts that show a finished compilation. Native code calls these functions by way of report."""

from .. import _events


def log_artifact(artifact, text):
    """Output of one artifact: graph_code, guards, bytecode, ..."""
    _events.emit("artifact", name=artifact, text=text)


def log_graph_table(name, rows):
    from ..fx.table import table_text

    log_artifact("graph", f"TRACED GRAPH\n ===== {name} =====\n{table_text(rows)}\n")


def log_bytecode(code, name, plan, parts):
    """The code object; then the entry's plan, and the code objects made for a break: (title, code) each."""
    import dis

    place = f"{code.co_filename} line {code.co_firstlineno} "
    shown = [f"ORIGINAL BYTECODE {name} {place}\n{dis.Bytecode(code).dis()}"]
    shown.append(f"MODIFIED BYTECODE {name} {place}\n" + "".join(f"  {line}\n" for line in plan))
    shown += [f"{title} {place}\n{dis.Bytecode(part).dis()}" for title, part in parts]
    for text in shown:
        log_artifact("bytecode", text)
