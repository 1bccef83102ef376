"""`site`: the registry and the documentation as web pages, in a folder that needs no server."""

import contextlib
import os
import signal
import sys

_NEEDED = ("jinja2", "markupsafe", "markdown_it", "pygments")


def add_to(commands):
    """The parser of the command."""
    sub = commands.add_parser("site", help="build web pages of all graph breaks and of the documentation")
    sub.add_argument("out", metavar="OUT", help="the folder: a new or empty one, or one this command has made")
    sub.add_argument("--jobs", type=_count, default=0, metavar="N", help="programs run at a time (default: processors)")
    sub.add_argument("--only", metavar="CODES", help="run the programs of these codes only (GB0170,GB0124)")
    sub.add_argument("--no-timing", action="store_true", help="measure nothing: the same input gives the same bytes")
    sub.add_argument("--strict", action="store_true", help="exit status 1 if a program does not run as it should")
    sub.add_argument("--url", default="", metavar="URL", help="the address at which the site will stand")
    return sub


def _count(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _chosen(only):
    """The codes whose programs run; ValueError for one that is none."""
    from .. import registry

    if only is None:
        return sorted({b.code for b in registry.all_breaks()})
    found = set()
    for word in only.replace(",", " ").split():
        try:
            found.add(registry.lookup(word)[0].code)
        except KeyError:
            raise ValueError(f"{word} is not in the registry") from None
    return sorted(found)


@contextlib.contextmanager
def _progress(total):
    """Gives what is to be called with each code that is done: a bar where a terminal is there."""
    if not sys.stderr.isatty():
        yield lambda code: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    except ImportError:
        yield lambda code: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("running programs", total=total)
        yield lambda code: bar.advance(task)


def _terminated(number, frame):
    raise KeyboardInterrupt


def answer(args):
    """Text to print and exit status."""
    try:
        from .._site import build, output, scenarios
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        return f"`site` needs {error.name}: pip install 'minidynamo[tools]'", 2
    if args.url and not args.url.startswith(("http://", "https://")):
        return f"--url is no address that begins with http:// or https://: {args.url}", 2
    try:
        chosen = _chosen(args.only)
        folder = output.Folder(args.out)
    except (ValueError, output.OutputError) as error:
        return str(error), 2
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        with _progress(len(chosen)) as done:
            jobs = args.jobs or len(os.sched_getaffinity(0))
            played = scenarios.play_all(chosen, jobs, timed=not args.no_timing, done=done)
        site = build.Site(folder, url=args.url)
        site.build(played)
        folder.finish()
    except output.OutputError as error:
        return str(error), 1
    except KeyboardInterrupt:
        return "interrupted: nothing was written", 130
    finally:
        folder.abandon()
        signal.signal(signal.SIGTERM, before)
    return _told(site, played, args)


def _told(site, played, args):
    failed = [scenario for scenario in played.values() if scenario.failures]
    for scenario in failed:
        for failure in scenario.failures:
            print(f"{scenario.code}: {failure}", file=sys.stderr)
    said = f"{len(site.folder.files)} files in {site.folder.out}; open {site.folder.out / 'index.html'}"
    if not site.documents:
        said += "\nThere is no docs folder beside this package: the pages of the documentation are left out."
    return said, 1 if failed and args.strict else 0
