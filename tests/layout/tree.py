"""The files of the project as git knows them, or as they lie there where git knows nothing, for the searches of this
folder.
"""

import fnmatch
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tracked():
    try:
        done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return walked(ROOT)
    if done.returncode:
        return walked(ROOT)
    return [name for name in done.stdout.split("\n") if name and (ROOT / name).is_file()]


def walked(root):
    """Files below `root` that its .gitignore does not leave out; of its patterns, those of one name."""
    patterns = [".git", *(root / ".gitignore").read_text(encoding="utf-8").split()]
    found = []
    for folder, folders, files in os.walk(root):
        here = pathlib.PurePath(folder).relative_to(root).as_posix()
        within = "/" if here == "." else f"{here}/"

        def kept(name, within=within):
            """name: of a folder with a "/" at its end."""
            names = (name, name.rstrip("/"), within + name)
            return not any(fnmatch.fnmatchcase(n, p) for n in names for p in patterns)

        folders[:] = [n for n in sorted(folders) if kept(f"{n}/")]
        found += [(within + n).lstrip("/") for n in sorted(files) if kept(n)]
    return found


def sources(*endings):
    return [name for name in tracked() if name.endswith(endings)]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")
