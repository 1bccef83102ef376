"""Programs for other processors as files: the code of each kernel, and a manifest of what a driver needs to launch it.

docs/gpu_programs.md describes the manifest.
"""

import base64
import json
import os
import re
from pathlib import Path

from . import assembler, is_ptx

VERSION = 1  # of the manifest: raised when a field changes its meaning or goes


class Folder:
    """Where programs are written: `add` each of them, then `close`. OSError where that fails."""

    def __init__(self, path, target, command):
        self.path, self.target = Path(path), target
        self.path.mkdir(parents=True, exist_ok=True)
        self._files, self.notes = {}, []  # {code: name}
        self._manifest = {"version": VERSION, "target": target, "command": command, "graphs": [], "kernels": []}

    def add(self, event):
        """A `target_program` event, as a dictionary."""
        program = event["program"]
        number = len(self._manifest["graphs"])
        constants = [self._constant(number, k, each) for k, each in enumerate(program["constants"])]
        first = len(self._manifest["kernels"])
        self._manifest["kernels"] += [self._kernel(number, event["function"], each) for each in program["launches"]]
        self._manifest["graphs"].append(
            {"name": event["graph"], "direction": event["direction"], "function": event["function"],
             "file": event["file"], "line": event["line"], "why": program["why"],
             "inputs": program["inputs"], "outputs": program["outputs"], "constants": constants,
             "temporaries": [{"bytes": size} for size in program["temporaries"]],
             "kernels": list(range(first, len(self._manifest["kernels"])))}
        )  # fmt: skip

    def close(self):
        """Writes the manifest; how many graphs, kernels and launches without a kernel it has."""
        self._write("manifest.json", json.dumps(self._manifest, indent=1).encode())
        kernels = self._manifest["kernels"]
        missing = sum(each["file"] is None for each in kernels)
        return len(self._manifest["graphs"]), len(kernels) - missing, missing

    def _kernel(self, graph, function, launch):
        file = self._code(f"{graph}_{function}_{launch['name']}", launch["text"]) if launch["text"] else None
        row = {name: value for name, value in launch.items() if name != "text"}
        return {"file": file, "graph": graph, **row}

    def _code(self, name, text):
        if text in self._files:
            return self._files[text]
        ending, data = ".ptx", text.encode()
        if not is_ptx(self.target):
            try:
                ending, data = ".hsaco", assembler.code_object(text, self.target)
            except assembler.CannotAssemble as error:
                ending = ".ll"
                self._note(f"LLVM IR in the place of code objects: {error}")
        plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:80]
        file, more = plain + ending, 1
        while file in self._files.values():
            more += 1
            file = f"{plain}_{more}{ending}"
        self._write(file, data)
        self._files[text] = file
        return file

    def _constant(self, graph, number, constant):
        file = f"{graph}_constant_{number}.bin"
        self._write(file, base64.b64decode(constant["content"]))
        return {**{name: value for name, value in constant.items() if name != "content"}, "file": file}

    def _note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def _write(self, name, data):
        part = self.path / f"{name}.{os.getpid()}.part"
        try:
            part.write_bytes(data)
            os.replace(part, self.path / name)
        except OSError:
            part.unlink(missing_ok=True)
            raise
