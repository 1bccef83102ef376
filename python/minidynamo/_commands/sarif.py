"""The findings of a check as SARIF 2.1.0, which code hosts and editors read."""

import datetime
import json
import re
import signal

from .findings import KINDS, OUTCOMES
from .places import quoted
from .printed import harmless

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_DEFAULT_LEVELS = {"error": "error", "break": "warning", "limit": "warning"}
_HELP = {
    "error": "Please report the program with what TORCHDYNAMO_VERBOSE=1 prints.",
    "recompile": "Make what changes an argument that is a tensor or a dynamic size, or call with few variants.",
    "limit": "Call with fewer variants, or raise the limit in torch._dynamo.config if so many are meant.",
    "plain": "Compile the function that is called where the exception is handled, or what the generator calls.",
    "skip": "MINIDYNAMO_LOGS=graph_breaks shows what was met.",
    "break": "MINIDYNAMO_LOGS=graph_breaks shows the whole message.",
}


def _message(text):
    """A message object: what SARIF would read as a placeholder or a link stays text."""
    text = re.sub(r"\{(?=\d+\})", "{{", text)
    text = re.sub(r"(\{\{\d+)\}", r"\1}}", text)
    return {"text": re.sub(r"\](?=\()", r"\\]", text)}


def _rule(finding, first):
    """What is known of a code, or of a kind of finding."""
    if first is None:
        about = KINDS[finding.kind]
        texts = (about, about[:1].upper() + about[1:] + ".", _HELP[finding.kind])
        uri, tags = None, [finding.kind]
    else:
        from .._dynamo import message

        texts = (first.type, first.explanation, "\n".join(f"- {hint}" for hint in first.hints) or first.explanation)
        uri = message.link(int(first.code[2:])) if message.is_published(int(first.code[2:])) else None
        tags = [first.area, first.kind]
    short, full, help_ = texts
    rule = {
        "id": finding.rule,
        "name": "".join(word[:1].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", short)),
        "shortDescription": _message(short),
        "fullDescription": _message(full),
        "help": {**_message(help_), "markdown": _as_markdown(help_)},
        "defaultConfiguration": {"level": _DEFAULT_LEVELS.get(finding.kind, "note")},
        "properties": {"tags": tags, "precision": "very-high"},
    }
    if uri:
        rule["helpUri"] = uri
    return rule


def _as_markdown(text):
    """The hints of the registry are written with backticks and dashes; angle brackets are no markup there."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _location(places, file, line, function, finding=None):
    where = {"logicalLocations": [{"name": function, "fullyQualifiedName": function, "kind": "function"}]}
    named = places.uri(file)
    if named is None:
        where["message"] = _message(f"{harmless(file, 200)}, line {line}")
        return where
    uri, below_root = named
    artifact = {"uri": uri, "uriBaseId": "%SRCROOT%"} if below_root else {"uri": uri}
    region = {"startLine": max(line, 1)}
    text = harmless(places.text(file, line), 2000)
    if finding is not None and finding.column is not None:
        region |= {
            "startColumn": finding.column + 1, "endLine": finding.end_line, "endColumn": finding.end_column + 1
        }  # fmt: skip
    if text and region.get("endLine", line) == line and "startColumn" not in region:
        region["snippet"] = {"text": text}
    where["physicalLocation"] = {"artifactLocation": artifact, "region": region}
    if text and "startColumn" in region:
        where["physicalLocation"]["contextRegion"] = {"startLine": max(line, 1), "snippet": {"text": text}}
    return where


def _nearest_file(finding, checked):
    """(file, line) to show a finding at whose code is in no file: code hosts refuse results without one."""
    for file, line, _ in reversed(finding.stack):
        if checked.places.uri(file) is not None:
            return file, line
    return checked.script, 1


def _main_location(finding, checked):
    where = _location(checked.places, finding.file, finding.line, finding.function, finding)
    if "physicalLocation" not in where:
        file, line = _nearest_file(finding, checked)
        if file is not None:
            where["physicalLocation"] = _location(checked.places, file, line, "")["physicalLocation"]
    return where


def _result(finding, rule_index, checked):
    places = checked.places
    said = [f"{finding.title}.", finding.explanation]
    if finding.outcome:
        said.append(f"Then: {OUTCOMES[finding.outcome]}.")
    said += [f"Fix: {hint}" for hint in finding.hints]
    result = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "kind": "fail",
        "level": finding.level,
        "message": _message("\n".join(filter(None, said))),
        "locations": [_main_location(finding, checked)],
        "occurrenceCount": max(finding.times, 1),
        "partialFingerprints": {"minidynamo/v1": finding.fingerprint(places.relative(finding.file) or finding.file)},
        "properties": {
            "kind": finding.kind, "verdict": finding.verdict, "outcome": finding.outcome, "context": finding.context,
            "hints": list(finding.hints),
        },
    }  # fmt: skip
    if checked.has_baseline:
        result["baselineState"] = "unchanged" if finding.verdict == "known" else "new"
    if finding.verdict == "known":
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": "in the baseline"}]
    if finding.stack:
        frames = [_location(places, *frame) for frame in finding.stack]
        if len(frames) > 1:
            result["codeFlows"] = [{"threadFlows": [{"locations": [{"location": frame} for frame in frames]}]}]
        result["stacks"] = [{"frames": [{"location": frame} for frame in reversed(frames)]}]
    return result


def _time(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _invocation(checked):
    invocation = {
        "arguments": [harmless(argument, 2000) for argument in checked.command],
        "executionSuccessful": checked.ran.status == 0,
        "exitCode": checked.ran.status,
        "startTimeUtc": _time(checked.started),
        "endTimeUtc": _time(checked.started + checked.ran.seconds),
        "workingDirectory": {"uri": "file://" + quoted(checked.places.start.rstrip("/") + "/")},
        "toolExecutionNotifications": [
            {"message": _message(note), "level": "warning"} for note in checked.notes
        ],
    }  # fmt: skip
    if checked.ran.signal:
        invocation["exitSignalName"] = checked.ran.signal
        invocation["exitSignalNumber"] = int(signal.Signals[checked.ran.signal])
    return invocation


def _folder(places):
    from .places import _quoted

    return _quoted(places.start.rstrip("/") + "/")


def render(checked):
    """The log as text."""
    from .. import __version__, registry
    from .._dynamo import config

    by_code = {b.code: b for b in registry.all_breaks() if b.id == b.code}
    rules, indices = [], {}
    for finding in checked.reported:
        if finding.rule not in indices:
            indices[finding.rule] = len(rules)
            rules.append(_rule(finding, by_code.get(finding.rule)))
    driver = {"name": "minidynamo", "version": __version__, "rules": rules}
    if re.fullmatch(r"\d+\.\d+\.\d+", __version__):
        driver["semanticVersion"] = __version__
    if config.registry_url.startswith("http"):
        driver["informationUri"] = config.registry_url
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(checked)],
        "originalUriBaseIds": {"%SRCROOT%": {"uri": checked.places.root_uri()}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(f, indices[f.rule], checked) for f in checked.reported],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"
