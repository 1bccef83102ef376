"""Runs the own tests of ten packages plainly and compiled, compares every outcome, and writes its part of
docs/conformance.md.

python tests/conformance/packages.py [PACKAGE ...] [--jobs N] [--fresh] [--no-rule] [--no-document]

Versions are pinned in packages.toml. Source distributions, and a virtual environment with the packages and what their
tests need, are made once for each Python below build/packages. Where the package index cannot be reached, that is said
and nothing is run; the exit status is 0 then, or 1 with --required.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import document
from modules import COMPILED
from run import compared, print_no_rule, printed
from supervise import ROOT

TABLE = tomllib.loads(Path(__file__).with_name("packages.toml").read_text(encoding="utf-8"))
RUNNER = Path(__file__).with_name("package_outcomes.py")
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
BASE = ROOT / "build" / "packages"
PLACE = BASE / VERSION


class Unreachable(Exception):
    """Something of the package index is not here and cannot be fetched."""


class Package:
    """A suite for run_suite(): the tests in the source distribution of a package."""

    def __init__(self, row):
        self.name = self.prefix = row["name"]
        self.pinned = f"{row['name']}=={row['version']}"
        self.tests, self.arguments = row["tests"], row.get("arguments", [])
        self.needs = row.get("needs", [])
        self.python = str(PLACE / "venv" / "bin" / "python")
        self.folder = PLACE / "sources" / self.name

    def script(self, progress, done):
        return [str(RUNNER), self.name, str(progress), str(done), "--rootdir=.", *self.arguments, *self.tests]

    def is_machinery(self, file):
        """Frames of pytest, and of pluggy below it, are those of what runs the tests."""
        names = {"_pytest", "pytest"} if self.name == "pluggy" else {"_pytest", "pytest", "pluggy"}
        return file == str(RUNNER) or bool(names & set(Path(file).parts))

    def fetch(self):
        """The sources, unpacked, from the source distribution; which is downloaded once for all Pythons."""
        if (self.folder / ".complete").exists():
            return
        download = BASE / "downloads" / self.pinned
        if not any(download.glob("*.tar.gz")):
            pip(sys.executable, "download", "--no-deps", f"--no-binary={self.name}", "-d", str(download), self.pinned)
        shutil.rmtree(self.folder, ignore_errors=True)
        unpacked = self.folder.with_name(f"{self.name}.part")
        shutil.rmtree(unpacked, ignore_errors=True)
        shutil.unpack_archive(next(download.glob("*.tar.gz")), unpacked)
        next(unpacked.iterdir()).rename(self.folder)
        unpacked.rmdir()
        (self.folder / ".complete").touch()


def pip(python, *arguments):
    done = subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", *arguments], capture_output=True, text=True
    )
    if done.returncode:
        raise Unreachable(f"pip {' '.join(arguments)}: {done.stderr.strip().splitlines()[-1:]}")


def make_ready(packages):
    """Sources unpacked, and one environment in which all packages are installed."""
    (PLACE / "sources").mkdir(parents=True, exist_ok=True)
    # What a package without settings of its own gets, instead of those of the folders above.
    (PLACE / "sources" / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    for package in packages:
        package.fetch()
    place, stamp = PLACE / "venv", PLACE / "venv" / "installed"
    pinned = [f"{name}=={version}" for name, version in TABLE["requirements"].items()]
    pinned += [requirement for package in packages for requirement in [package.pinned, *package.needs]]
    if stamp.exists() and set(pinned) <= set(stamp.read_text(encoding="utf-8").split("\n")):
        return
    venv.create(place, clear=True, with_pip=True, symlinks=True)
    pip(str(place / "bin" / "python"), "install", *pinned)
    stamp.write_text("\n".join(pinned), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description="The own tests of packages, plain and compiled.")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="all of packages.toml without any")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="packages at a time")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds a test may stand still")
    parser.add_argument("--way", action="append", choices=COMPILED, help="how to compile; both ways without it")
    parser.add_argument("--fresh", action="store_true", help="use no stored results")
    parser.add_argument("--required", action="store_true", help="fail where the package index cannot be reached")
    parser.add_argument("--no-rule", action="store_true", help="count breaks at forms that have no rule")
    parser.add_argument("--no-document", action="store_true", help="leave docs/conformance.md as it is")
    args = parser.parse_args()
    every = [Package(row) for row in TABLE["package"]]
    if unknown := set(args.packages) - {p.name for p in every}:
        parser.error(f"not in packages.toml: {', '.join(sorted(unknown))}")
    try:
        make_ready(every)
    except Unreachable as missing:
        print(f"packages: SKIPPED, since the package index cannot be reached ({missing})", file=sys.stderr)
        return 1 if args.required else 0
    chosen = [p for p in every if not args.packages or p.name in args.packages]
    rows, unexplained = [], 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for comparisons in pool.map(lambda p: compared(p, args), chosen):
            unexplained += printed(comparisons)
            rows.append(comparisons)
    if args.no_rule:
        print_no_rule(rows)
    if not (args.no_document or args.packages or args.way):
        pinned = {p.name: p.pinned.split("==")[1] for p in every}
        document.write_packages(rows, pinned, ROOT / "docs" / "conformance.md")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
