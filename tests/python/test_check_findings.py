"""What `check` makes of events, from made-up ones: kinds, order, what belongs together, baselines, escapes."""

import json
import time

import pytest

from minidynamo._commands import annotations, baseline, check, junit, sarif, summary, watched
from minidynamo._commands.criteria import Criteria, counts
from minidynamo._commands.findings import gather
from minidynamo._commands.places import Places

FRAME = {"file": "a.py", "line": 2, "function": "f"}
BREAK = {
    "kind": "break", "thread": 1, "time": 1.0, "compile_id": "0/0", "code": "GB0059", "type": "Title", "context": "c",
    "explanation": "why", "hints": ["do this", "or that"], "stack": [FRAME], "outcome": "resumed",
}  # fmt: skip
FUNCTION = {"thread": 1, "time": 1.0, "compile_id": "0/0", "function": "f", "file": "a.py", "line": 1}
SKIP = {"kind": "skip", **FUNCTION, "reason": "why not"}
LIMIT = {"kind": "limit", **FUNCTION, "limit": "recompile_limit", "value": 8, "reason": "n == 1"}
ERROR = {"kind": "internal_error", **FUNCTION, "error": "oh"}
AGAIN = {
    "kind": "recompile", **FUNCTION, "guard": "n == 1", "guard_kind": "EQUALS_MATCH", "place": "n", "old": "1",
    "new": "2", "hint": "fewer", "stack": [FRAME],
}  # fmt: skip


@pytest.fixture
def places(tmp_path, monkeypatch):
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "a.py").write_text("def f(x):\n    print(x)\n")
    return Places(str(tmp_path))


def found(places, *processes):
    return [(f.kind, f.rule, f.line, f.times, f.outcome) for f in gather(processes, places)]


def test_kinds_and_their_order(places):
    events = [
        SKIP,
        AGAIN,
        LIMIT,
        BREAK,
        ERROR,
        {**BREAK, "line": 9, "stack": [{**FRAME, "line": 1}], "outcome": "raised"},
    ]
    assert found(places, events) == [
        ("error", "error", 1, 1, ""),
        ("break", "GB0059", 1, 1, "raised"),
        ("break", "GB0059", 2, 1, "resumed"),
        ("limit", "limit", 1, 1, ""),
        ("recompile", "recompile", 1, 1, ""),
        ("skip", "skip", 1, 1, ""),
    ]


def test_what_belongs_together(places):
    assert found(places, [{**BREAK, "outcome": "skipped"}, SKIP], [BREAK]) == [("break", "GB0059", 2, 2, "skipped")]
    other_thread = [{**BREAK, "outcome": "skipped"}, {**SKIP, "thread": 2}]
    assert [row[0] for row in found(places, other_thread)] == ["break", "skip"]
    at_limit = {**BREAK, "code": "GB0039", "outcome": "plain"}
    assert found(places, [LIMIT, at_limit, BREAK]) == [
        ("break", "GB0059", 2, 1, "resumed"),
        ("limit", "GB0039", 1, 1, ""),
    ]
    (again,) = gather([[AGAIN, {**AGAIN, "new": "3", "function": "torch_dynamo_resume_in_f_at_2"}]], places)
    assert (again.times, again.function, again.title) == (2, "f", "Compiled again: n changed")
    assert found(places, [{**BREAK, "outcome": "plain", "code": None}]) == [("plain", "break", 2, 1, "plain")]


def test_events_of_another_making_are_left_out(places):
    odd = [
        {**BREAK, "stack": None}, {**BREAK, "stack": []}, {**BREAK, "hints": 3}, {**BREAK, "thread": []}, {"kind": []},
        {"kind": "break"}, {"kind": "_add"}, {**LIMIT, "value": "x"}, {**SKIP, "file": 3}, {**AGAIN, "stack": [1]},
    ]  # fmt: skip
    assert found(places, odd) == []


def test_where_a_break_counts(places):
    library = {"file": json.__file__, "line": 1, "function": "dumps"}
    (inside,) = gather([[{**BREAK, "stack": [FRAME, library]}]], places)
    assert (inside.file, inside.line, inside.own, len(inside.stack)) == ("a.py", 2, True, 2)
    (outside,) = gather([[{**BREAK, "stack": [library]}]], places)
    assert not outside.own and not counts(outside, places, [], [])
    assert counts(outside, places, [json.__file__], []) and counts(outside, places, ["*/json/*"], [])
    assert not counts(inside, places, [], ["*.py"]) and not counts(inside, places, ["."], ["a.*"])
    assert counts(inside, places, [places.start], []) and not counts(inside, places, ["b"], [])


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("break", True), ("Breaks", True), ("limit", False), ("all", True), ("none", False), ("", False),
        ("gb0059", True), ("59", True), ("GB0058-GB0060", True), ("1-58", False), ("GB00*", True), ("gb01?9", False),
        ("GB005[89]", True), ("none,GB0059 limit", True),
    ],
)  # fmt: skip
def test_criteria(places, text, takes):
    assert (gather([[BREAK]], places)[0] in Criteria(text)) == takes


@pytest.mark.parametrize("text", ["GB0222", "60-59", "GB99*", "*", "GB", "breaking", "GB0059;1", "\x1b", "-"])
def test_wrong_criteria(text):
    with pytest.raises(ValueError, match="is no kind"):
        Criteria(text)


def test_baselines_count_places(places):
    twice = [BREAK, {**BREAK, "stack": [{**FRAME, "file": "b.py"}]}, {**BREAK, "stack": [{**FRAME, "line": 9}]}]
    first = gather([twice], places)
    text = baseline.as_text(first, places)
    with open(places.start + "/k.json", "w") as file:
        file.write(text)
    known = baseline.read(places.start + "/k.json")
    assert text.endswith("}\n") and sum(known.values()) == 3
    assert baseline.mark_known(first, known, places) == 0 and {f.verdict for f in first} == {"known"}
    more = gather([[*twice, {**BREAK, "stack": [{**FRAME, "line": 10}]}, {**BREAK, "code": "GB0001"}]], places)
    assert baseline.mark_known(more, known, places) == 0
    assert sorted((f.rule, f.line) for f in more if f.verdict == "told") == [("GB0001", 2), ("GB0059", 10)]
    fewer = gather([[BREAK]], places)
    assert baseline.mark_known(fewer, known, places) == 2 and fewer[0].verdict == "known"


def test_source_that_is_in_no_file(places):
    frame = {"file": "<cell 1>", "line": 2, "function": "f", "end_line": 2, "column": 6, "end_column": 8}
    source = {
        "kind": "source",
        "thread": 1,
        "time": 1.0,
        "compile_id": "",
        "file": "<cell 1>",
        "text": "def f():\n  é = x.y\n",
    }
    (finding,) = gather([[source, {**source, "text": 3}, {**BREAK, "stack": [frame]}]], places)
    assert (finding.text, finding.column, finding.end_column, finding.own) == ("  é = x.y", 5, 7, True)
    places.give("a.py", "not this")
    assert places.text("a.py", 2) == "    print(x)"


def test_escapes_of_formats(places):
    said = {**BREAK, "type": "a, b: 100%", "explanation": "{0} {x} [a](b) ]]> & <b>", "hints": ["x\r\ny%"]}
    findings = gather([[said]], places)
    findings[0].verdict = "fails"
    ran = watched.Watched(0, 1.0, [])
    checked = check.Checked(["a.py"], places, ran, time.time(), findings, "break")
    assert annotations.github(checked) == (
        "::error file=a.py,line=2,title=GB0059 a%2C b%3A 100%25::{0} {x} [a](b) ]]> & <b>%0AFix: x  y%25"
    )
    (result,) = json.loads(sarif.render(checked))["runs"][0]["results"]
    assert "{{0}} {x} [a\\](b) ]]> & <b>" in result["message"]["text"]
    assert "{0} {x} [a](b) ]]&gt; &amp; &lt;b&gt;" in junit.render(checked)
    assert "[a](b) ]]> & <b>" in summary.text(checked) and checked.status == 1


def test_a_check_of_nothing(places):
    checked = check.Checked(["-m", "x"], places, watched.Watched(-11, 1.0, []), time.time(), [], "break", max_breaks=0)
    assert checked.status == 3 and "SIGSEGV" in junit.render(checked) and "SIGSEGV" in summary.text(checked)
    assert json.loads(sarif.render(checked))["runs"][0]["invocations"][0]["exitCode"] == 139
    assert json.loads(annotations.gitlab(checked)) == [] and annotations.github(checked) == ""
