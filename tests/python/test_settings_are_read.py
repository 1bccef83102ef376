"""Every setting is read by some code, or stands in the table of those without effect and says so when set."""

import pathlib
import re
import warnings

import pytest

from minidynamo._dynamo import config

ROOT = pathlib.Path(__file__).resolve().parents[2]


def readers():
    """Names of settings that sources ask for: native code of the snapshot, Python as `config.<name>`."""
    found = set()
    for path in (ROOT / "frontend").rglob("*.cpp"):
        text = path.read_text(encoding="utf-8")
        if '"minidynamo._dynamo.config"' in text:
            found |= set(
                re.findall(r'\b(?:flag|number|get|PyObject_GetAttrString)\([^()"]*(?:\(\))?[^()"]*"(\w+)"', text)
            )
    for path in (ROOT / "python/minidynamo").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name == "config.py":
            found |= set(re.findall(r'_values\["(\w+)"\]', text))
        else:
            found |= set(re.findall(r"\bconfig\.(\w+)\b(?!\s*=[^=])", text))
    return found & set(config._DEFAULTS)


def test_every_setting_is_read_or_says_that_it_is_not():
    assert set(config._DEFAULTS) - readers() == set(config.NO_EFFECT)


def another(value):
    return not value if isinstance(value, bool) else f"{value}x" if isinstance(value, str) else (value or 0) + 1


@pytest.mark.parametrize("by", ["assignment", "patch"])
@pytest.mark.parametrize("name", sorted(config.NO_EFFECT))
def test_a_setting_without_effect_warns_once(name, by):
    config._warn_without_effect.__globals__["_warned"].discard(name)
    value = another(config._DEFAULTS[name])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            if by == "patch":
                with config.patch({name: value}):
                    pass
            else:
                setattr(config, name, value)
                delattr(config, name)
    assert [str(w.message).split(" in minidynamo")[0] for w in seen] == [f"torch._dynamo.config.{name} has no effect"]
    assert seen[0].filename == __file__


@pytest.mark.parametrize("name", sorted(config._DEFAULTS))
def test_the_default_can_be_set_without_a_word(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with config.patch({name: config._DEFAULTS[name]}):
            pass
