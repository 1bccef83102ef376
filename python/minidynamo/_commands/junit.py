"""The findings of a check as a JUnit XML file: a test case for each, and one for the program itself."""

import collections
import datetime
import xml.etree.ElementTree as ElementTree

from .findings import OUTCOMES
from .printed import harmless


def _case(suite, name, group, seconds=0.0, **more):
    shared = {"name": harmless(name, 500), "classname": harmless(group, 500), "time": f"{seconds:.3f}"}
    return ElementTree.SubElement(suite, "testcase", {**shared, **more})


def _told(finding, places):
    lines = [f"{places.shown(finding.file)}:{finding.line} in {finding.function}", finding.text.strip(), finding.title]
    lines += [finding.explanation, OUTCOMES.get(finding.outcome, ""), *(f"Fix: {hint}" for hint in finding.hints)]
    lines += [f"  {places.shown(file)}:{line} in {name}" for file, line, name in finding.stack]
    return "\n".join(harmless(line) for line in lines if line)


def _add_finding(suite, finding, places, names):
    """`names`: those that were used, with how often; a name does not change when lines move."""
    file = harmless(places.relative(finding.file) or finding.file)
    name = f"{finding.rule} {finding.title} in {finding.function}"
    names[file, name] += 1
    if names[file, name] > 1:
        name += f" ({names[file, name]})"
    case = _case(suite, name, file, file=file, line=str(finding.line))
    text = _told(finding, places)
    if finding.verdict == "fails":
        about = {"type": finding.rule, "message": f"{finding.title} ({finding.times} x)"}
        ElementTree.SubElement(case, "failure", about).text = text
    elif finding.verdict == "known":
        ElementTree.SubElement(case, "skipped", {"message": "known: it is in the baseline"})
    else:
        ElementTree.SubElement(case, "system-out").text = text


def render(checked):
    """The file as text."""
    suite = ElementTree.Element("testsuite", {"name": "minidynamo check"})
    program = " ".join(checked.command)
    case = _case(suite, f"{program} ends with 0", "minidynamo.check.program", checked.ran.seconds)
    if checked.ran.status:
        about = {"type": checked.ran.signal or f"status {checked.ran.status}", "message": checked.ending}
        ElementTree.SubElement(case, "error", about).text = checked.ending
    if checked.max_breaks is not None:
        case = _case(suite, f"at most {checked.max_breaks} places break graphs", "minidynamo.check.max-breaks")
        if checked.too_many:
            about = {"type": "max-breaks", "message": f"{checked.breaks} places break graphs"}
            ElementTree.SubElement(case, "failure", about)
    names = collections.Counter()
    for finding in sorted(checked.reported, key=lambda f: (f.file, f.line)):
        _add_finding(suite, finding, checked.places, names)
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("time", f"{checked.ran.seconds:.3f}")
    started = datetime.datetime.fromtimestamp(checked.started, datetime.UTC)
    suite.set("timestamp", started.strftime("%Y-%m-%dT%H:%M:%S"))
    shared = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    whole = ElementTree.Element("testsuites", {"name": "minidynamo check", **shared})
    whole.append(suite)
    ElementTree.indent(whole, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(whole, encoding="unicode") + "\n"
