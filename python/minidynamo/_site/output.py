"""The folder a site is written to: whole or not at all, and never over files that are not of an earlier site."""

import os
import shutil
import tempfile
from pathlib import Path

MARK = ".minidynamo-site"  # a file that says who made the folder


class OutputError(Exception):
    """Why the folder cannot be written; text for the user."""


class Folder:
    """Files are written beside OUT, which they replace in one step when all are there (`finish`)."""

    def __init__(self, out):
        self.out = Path(os.path.realpath(out))
        _check(self.out)
        try:
            self.place = Path(tempfile.mkdtemp(prefix=f".{self.out.name}.", dir=self.out.parent))
        except OSError as error:
            raise OutputError(f"nothing can be written in {self.out.parent}: {error.strerror}") from None
        self.files = []

    def write(self, name, content):
        """Writes a file: text, or bytes."""
        path = self.place / name
        data = content.encode("utf-8") if isinstance(content, str) else content
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            raise OutputError(f"{self.out / name} cannot be written: {error.strerror}") from None
        self.files.append(name)

    def finish(self):
        """Puts the site where it belongs."""
        self.write(MARK, "made by python -m minidynamo site\n")
        old = None
        try:
            self.place.chmod(0o777 & ~_umask())
            _check(self.out)  # somebody may have put something there meanwhile
            if self.out.exists():
                old = Path(tempfile.mkdtemp(prefix=f".{self.out.name}.", dir=self.out.parent))
                self.out.rename(old)
            try:
                self.place.rename(self.out)
            except OSError:
                if old is not None:
                    old.rename(self.out)
                raise
        except OSError as error:
            raise OutputError(f"{self.out} cannot be replaced: {error.strerror}") from None
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)

    def abandon(self):
        """Leaves everything as it was. May be called again, and after `finish`."""
        shutil.rmtree(self.place, ignore_errors=True)


def _umask():
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _check(out):
    """Whether the folder may be made or replaced."""
    if not out.parent.is_dir():
        raise OutputError(f"{out.parent} is not a folder: make it first")
    if not os.path.lexists(out):
        return
    if not out.is_dir():
        raise OutputError(f"{out} is a file")
    try:
        names = os.listdir(out)
    except OSError as error:
        raise OutputError(f"{out} cannot be read: {error.strerror}") from None
    if names and MARK not in names:
        raise OutputError(f"{out} holds files that are not of a site made by this command; name another folder")
