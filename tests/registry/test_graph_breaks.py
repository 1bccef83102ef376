"""The graph-break table: complete, consistent, and refused when it is not."""

import collections
import hashlib
import importlib.util
import pathlib
import re
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = tomllib.loads((ROOT / "registry/graph_breaks.toml").read_text())
ROWS = {row["code"]: row for row in TABLE["break"]}
PUBLISHED = [code for code in ROWS if code < "GB9000"]
OWN = [code for code in ROWS if code >= "GB9000"]


def load_generator():
    spec = importlib.util.spec_from_file_location("collect_graph_breaks", ROOT / "registry/collect_graph_breaks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = load_generator()


def every_text():
    for code, row in ROWS.items():
        for part in (row, *row.get("variant", ())):
            for text in (part.get("explanation", ""), *part.get("hints", ())):
                yield code, text


def test_codes_count_up_without_a_gap():
    """The published ones from GB0000, those of our own from GB9000: a new one touches the table only."""
    for first, codes in (0, PUBLISHED), (9000, OWN):
        assert codes == [f"GB{n:04d}" for n in range(first, first + len(codes))]


def test_titles_are_the_published_ones():
    # The digest of the "code title" lines of the registry published with PyTorch 2.9: a changed title shows here. Codes
    # that are published later, and codes of our own, are not part of it.
    lines = "".join(f"{code} {ROWS[code]['type']}\n" for code in PUBLISHED[:222])
    assert (
        hashlib.sha256(lines.encode()).hexdigest() == "26536ba96c31ed34842ab75bdb7915248d744d4f44b56fcb1497ce701f22ec10"
    )


def test_every_row_explains_and_advises():
    for code, row in ROWS.items():
        assert len(row["explanation"].split()) >= 8, code
        assert row["hints"], code


def test_sentences_end_and_stay_on_one_line():
    for code, text in every_text():
        assert "\n" not in text and "  " not in text, code
        assert text == "" or text[-1] in ".`" or text.endswith("}"), (code, text)


def test_explanations_are_not_shared():
    # Two codes with one explanation would mean one of them says nothing of its own.
    shared = collections.Counter(row["explanation"] for row in ROWS.values())
    assert [text for text, n in shared.items() if n > 1] == []


@pytest.mark.parametrize(
    "change, message",
    [
        ({"code": "GB12"}, "bad code"),
        ({"class": "odd"}, "class 'odd'"),
        ({"explanation": ""}, "empty"),
        ({"explanation": "uses {nothing}"}, "not one of the arguments"),
        ({"context": "open {"}, "not one of the arguments"),
        ({"args": ["a"]}, "never used"),
        ({"colour": "red"}, "unknown fields"),
    ],
)
def test_generator_refuses(change, message):
    row = {"code": "GB0001", "type": "t", "area": "x", "class": "internal", "status": "raised", "explanation": "e"}
    with pytest.raises(GENERATOR.TableError, match=re.escape(message)):
        GENERATOR.render({"break": [{**row, **change}]})


def test_generator_refuses_a_code_twice():
    row = {"code": "GB0001", "type": "t", "area": "x", "class": "internal", "status": "raised", "explanation": "e"}
    with pytest.raises(GENERATOR.TableError, match="twice"):
        GENERATOR.render({"break": [row, dict(row)]})


def test_generated_text():
    row = {
        "code": "GB0007",
        "type": 'a "quoted" title',
        "area": "x",
        "class": "user_error",
        "args": ["f", "g"],
        "context": "{g}: {{}} {f}",
        "explanation": "e",
        "status": "raised",
        "hints": ["one", "2 {f}"],
        "variant": [{"name": "other", "explanation": "o"}],
    }
    numbers, texts, _ = GENERATOR.render({"break": [row]})
    assert numbers == ["MD_BREAK(GB0007, 7, 2)", "MD_BREAK(GB0007_other, 7, 2)"]
    assert '"a \\"quoted\\" title", "{1}: {{}} {0}", "e", "one\\x1f" "2 {0}", "f\\x1f" "g", "x", UserError)' in texts[0]


def raise_sites():
    """Codes that native code raises, with the places."""
    found = collections.defaultdict(list)
    for folder in ("frontend", "ir"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cpp", ".h", ".inc"):
                text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
                for code in re.findall(r"\b(?:graph_break|make_break|\w+)\s*<\s*(GB\d{4})\w*\s*>", text):
                    found[code].append(path.name)
    return found


def test_status_of_every_code_is_what_the_sources_say():
    sites = raise_sites()
    raised = {code for code, row in ROWS.items() if row["status"] in ("raised", "synthetic")}
    assert raised - set(sites) == set(), "rows without a raise site"
    assert set(sites) - raised == set(), "raise sites without a row that says so"


def test_a_code_that_is_not_raised_says_why():
    for code, row in ROWS.items():
        assert bool(row.get("why")) == (row["status"] != "raised"), code
        assert row.get("why", ".").endswith("."), code


WRONG = [{"status": "perhaps"}, {"status": "raised", "why": "x"}, {"status": "internal"}, {"python": "3.12"}]


@pytest.mark.parametrize("change", WRONG)
def test_a_wrong_status_is_refused(change):
    row = {
        "code": "GB0000",
        "type": "t",
        "area": "a",
        "class": "internal",
        "explanation": "e",
        "status": "raised",
        **change,
    }
    with pytest.raises(GENERATOR.TableError):
        GENERATOR.render({"break": [row]})


def test_python_shows_the_same_status():
    from minidynamo import registry

    shown = {b.code: (b.status, b.why, b.python) for b in registry.all_breaks()}
    assert shown == {c: (row["status"], row.get("why", ""), row.get("python", "")) for c, row in ROWS.items()}
