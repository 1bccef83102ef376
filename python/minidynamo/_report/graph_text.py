"""Graphs, kernels and guards, read from the texts in which events tell of them."""

import re

_TITLE = re.compile(r"=====\s+(?:(Forward|Backward) graph of )?(\S+)\s+=====")
_PLACE = re.compile(r"^\s*# File: (.*):(\d+) in (.*?), code: (.*)$")
_NODE = re.compile(r'^\s+(\w+): "([^"]*)" = (.*)$')
_BARE = re.compile(r"^\s+(\w+) = (.*)$")
_INPUT = re.compile(r'(\w+): "([^"]*)"')
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?![\w(]| =)")  # neither a function nor the name of an argument
_CALLED = re.compile(r"^(?:torch\.)?([\w.]+)\(")
_METHOD = re.compile(r"^([A-Za-z_]\w*)\.(\w+)\(")
_OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow", "@": "matmul", "//": "floordiv", "%": "mod",
    "<": "lt", ">": "gt", "<=": "le", ">=": "ge", "==": "eq", "!=": "ne", "&": "and", "|": "or", "^": "xor",
}  # fmt: skip
_BINARY = re.compile(r"^\S+ (\*\*|//|<=|>=|==|!=|[-+*/@%<>&|^]) \S+$")
_GUARD = re.compile(r"^[|\s]*\+- ([A-Z_]+): (.*)$")


class GraphText:
    """A graph: `name`, `direction` ("", "Forward", "Backward"), `inputs` [(name, type)], `nodes`, `text`.

    A node is a dictionary: name, type, op, inputs (names of nodes and inputs), file, line, code.
    """

    def __init__(self, text):
        self.text = text
        title = _TITLE.search(text)
        self.direction, self.name = (title[1] or "", title[2]) if title else ("", "")
        self.inputs, self.nodes, self.outputs = [], [], []
        self._known, place = {}, ("", 0, "")
        for line in text.split("\n"):
            if found := _PLACE.match(line):
                place = (found[1], int(found[2]), found[4])
            elif line.lstrip().startswith("# No stacktrace"):
                place = ("", 0, "")
            elif line.lstrip().startswith("def forward("):
                self.inputs = _INPUT.findall(line)
                self._known = {name: name for name, _ in self.inputs}
            elif line.lstrip().startswith("return "):
                self.outputs = [self._known[n] for n in _NAME.findall(line) if n in self._known]
            elif self._known or self.inputs or "=" in line:
                self._read(line, place)

    def _read(self, line, place):
        line = line.partition(";  ")[0]
        found = _NODE.match(line)
        name, type_, value = found.groups() if found else ("", "", "")
        if not found:
            bare = _BARE.match(line)
            if not bare:
                return
            name, value = bare.groups()
            if value in self._known:  # another name of an input
                self._known[name] = self._known[value]
                return
        inputs = list(dict.fromkeys([self._known[n] for n in _NAME.findall(_unquoted(value)) if n in self._known]))
        self._known[name] = name
        self.nodes.append(
            {"name": name, "type": type_, "op": _operation(value, self._known), "inputs": inputs, "file": place[0],
             "line": place[1], "code": place[2]}
        )  # fmt: skip


def _unquoted(value):
    return re.sub(r"'[^']*'|\"[^\"]*\"", "", value)


def _operation(value, known):
    method = _METHOD.match(value)
    if method and method[1] in known:
        return method[2]
    called = _CALLED.match(value)
    if called:
        return called[1].rpartition(".")[2]
    binary = _BINARY.match(value)
    if binary:
        return _OPERATORS[binary[1]]
    if value.startswith("-"):
        return "neg"
    if "[" in value:
        return "getitem"
    return value.partition("(")[0][:40]


def kernels(text):
    """(direction, graph, [(kernel, [names of nodes]), ...]) of a `fusion` text."""
    title, rows = _TITLE.search(text), []
    for line in text.split("\n"):
        name, found, nodes = line.partition(": ")
        if found and "=====" not in line:
            rows.append((name, nodes.split()))
    return (title[1] or "Forward", title[2], rows) if title else ("", "", rows)


def guards(text):
    """[(kind, check, what it is about), ...] of a text of guards, without the tree that holds them."""
    rows = []
    for line in text.split("\n"):
        found = _GUARD.match(line)
        if not found:
            continue
        check, *about = re.split(r"\s{2,}# ", found[2])
        rows.append((found[1], check.strip(), about[0].strip() if about else ""))
    return rows
