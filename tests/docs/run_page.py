"""Runs the code blocks of one page and compares what they print with what the page shows.

    .venv/bin/python tests/docs/run_page.py PAGE           prints {"blocks": how many ran, "differences": [...]}
    .venv/bin/python tests/docs/run_page.py --write PAGE   writes what was printed into the page, where it differs

Programs run in an empty folder, with the environment of a fresh shell. Shown are their files without the folder, the
package's without its place, and log lines without what stands before the message (MINIDYNAMO_LOGS_FORMAT).
"""

import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
PACKAGES = os.environ.get("MINIDYNAMO_PACKAGES") or str(ROOT / "python")
SETTINGS = ("MINIDYNAMO_", "TORCH", "PYTHON", "PYTEST", "COVERAGE")


def environment(folder):
    """A fresh shell's, where `python` is this one and finds the package; runs in no colour, 100 columns wide."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(SETTINGS)}
    python = folder / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    added = {
        "PATH": f"{python.parent}{os.pathsep}{kept.get('PATH', os.defpath)}",
        "PYTHONPATH": PACKAGES,
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),  # nothing but the programs lies beside them
        "MINIDYNAMO_LOGS_FORMAT": "%(message)s",
        "COLUMNS": "100",
        "TERM": "dumb",
        "NO_COLOR": "1",
    }
    return {**kept, **added}


class Printed:
    """Everything this process writes to both its outputs, in order, up to when it is asked."""

    def __init__(self, path):
        self._file = open(path, "w+b")
        self._seen = 0
        self.outputs = os.dup(1)
        for descriptor in (1, 2):
            os.dup2(self._file.fileno(), descriptor)
        sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", 0, closefd=False), encoding="utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", 0, closefd=False), encoding="utf-8", write_through=True)

    def since_last(self):
        text = pathlib.Path(self._file.name).read_bytes()[self._seen :]
        self._seen += len(text)
        return text.decode("utf-8", "backslashreplace")


class Page:
    """One page's programs: their folder, their namespace, what differs."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        self.programs = folder / "programs"
        self.programs.mkdir()
        self.environment = environment(folder)
        self.ran, self.differences = 0, []
        self.namespace = None

    def shown(self, text):
        """As a page shows it: no folder of this run, no place of this checkout."""
        for place in (f"{self.programs}/", f"{PACKAGES}/", f"{ROOT}/"):
            text = text.replace(place, "")
        return text.replace(str(self.programs), ".").replace(str(self.folder), "FOLDER")

    def compare(self, block, what, expected, printed):
        from docs.blocks import agrees

        self.ran += 1
        printed = self.shown(printed)
        if not agrees(expected, printed):
            self.differences.append({"line": block.line, "what": what, "expected": expected, "printed": printed})

    def run_python(self, block, number, printed):
        if self.namespace is None or block.rest == "new":
            main = types.ModuleType("__main__")
            sys.modules["__main__"] = main
            self.namespace = main.__dict__
        path = self.programs / f"example_{number}.py"
        path.write_text(block.text)
        self.namespace["__file__"] = str(path)
        try:
            exec(compile(block.text, str(path), "exec", dont_inherit=True), self.namespace)
        except BaseException as error:  # noqa: BLE001  it is a difference, whatever it is
            import traceback

            error.__traceback__ = error.__traceback__.tb_next  # from the program's own frame on
            traceback.print_exception(error)
        self.compare(block, "python", block.output.text if block.output else "", printed.since_last())

    def run_console(self, block):
        from docs.blocks import commands_of

        for command, expected in commands_of(block.text):
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.programs, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="backslashreplace", timeout=100,
            )  # fmt: skip
            ending = f"(exit status {done.returncode})\n" if done.returncode else ""
            if ending and done.stdout and not done.stdout.endswith("\n"):
                ending = "\n" + ending
            self.compare(block, f"$ {command}", expected, done.stdout + ending)

    def run(self, printed):
        from docs.blocks import blocks_of

        os.chdir(self.programs)
        os.environ.clear()
        os.environ.update(self.environment)
        sys.path[:] = [str(self.programs), PACKAGES, *(p for p in sys.path if p != str(ROOT / "tests"))]
        for number, block in enumerate(blocks_of(self.path.read_text()), 1):
            if block.reason:
                continue
            if block.file:
                (self.programs / block.file).parent.mkdir(parents=True, exist_ok=True)
                (self.programs / block.file).write_text(block.text)
            elif block.kind == "python":
                self.run_python(block, number, printed)
            elif block.kind == "console":
                self.run_console(block)


def write_back(path, differences):
    """Puts what was printed where the page shows something else; later lines first, so that numbers stay true."""
    lines = path.read_text().split("\n")
    for found in sorted(differences, key=lambda d: -d["line"]):
        printed = [line.rstrip() for line in found["printed"].strip("\n").split("\n")] if found["printed"] else []
        begin = found["line"]  # the line after the fence
        end = lines.index("```", begin)
        if found["what"] == "python":
            if end + 2 < len(lines) and lines[end + 2] == "```output":
                begin = end + 3
                end = lines.index("```", begin)
                lines[begin:end] = printed
            else:
                lines[end + 1 : end + 1] = ["", "```output", *printed, "```"]
            continue
        command = found["what"].split("\n")
        begin = next(i for i in range(begin, end) if lines[i : i + len(command)] == command) + len(command)
        stop = next((i for i in range(begin, end) if lines[i].startswith("$ ")), end)
        lines[begin:stop] = printed
    path.write_text("\n".join(lines))


def main():
    write = "--write" in sys.argv
    path = pathlib.Path(sys.argv[-1]).resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="minidynamo-page-"))
    try:
        printed = Printed(folder / "printed")
        page = Page(path, folder)
        page.run(printed)
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    if write:
        write_back(path, page.differences)
    with open(printed.outputs, "w", encoding="utf-8") as out:
        out.write(json.dumps({"blocks": page.ran, "differences": page.differences}) + "\n")


if __name__ == "__main__":
    main()
