"""Which findings fail a check: kinds, codes, ranges of codes, patterns and areas."""

import fnmatch
import re

from .findings import KINDS

DEFAULT = "break,limit,error"


def _number(text):
    match = re.fullmatch(r"(?:GB)?(\d{1,4})", text, re.IGNORECASE)
    return int(match.group(1)) if match else None


class Criteria:
    """Names separated by commas or spaces: `break`, `limit`, ... (KINDS), `all`, `none`, `GB0059`, `59`,
    `GB0100-GB0120`, `GB01*`, `control-flow` (an area). ValueError for others."""

    def __init__(self, text):
        from .. import registry

        self.text = text
        self._kinds, self._areas, self._numbers, self._patterns = set(), set(), [], []
        known = registry.all_breaks()
        areas, codes = {b.area for b in known}, {b.code for b in known}
        for name in filter(None, re.split(r"[\s,]+", text)):
            if not self._take(name, name.lower(), areas, codes):
                raise ValueError(
                    f"{name!r} is no kind ({', '.join(KINDS)}, all, none), no code (GB0059, GB0100-GB0120, GB01*) "
                    f"and no area ({', '.join(sorted(areas))})"
                )

    def _take(self, name, lower, areas, codes):
        lower = lower.removesuffix("s") if lower.removesuffix("s") in KINDS else lower
        if lower in KINDS:
            self._kinds.add(lower)
        elif lower == "all":
            self._kinds.update(KINDS)
        elif lower == "none":
            pass
        elif lower in areas:
            self._areas.add(lower)
        elif _number(name) is not None and f"GB{_number(name):04d}" in codes:
            self._numbers.append((_number(name), _number(name)))
        elif None not in (ends := [_number(end) for end in name.split("-")]) and len(ends) == 2 and ends[0] <= ends[1]:
            self._numbers.append(tuple(ends))
        elif re.fullmatch(r"gb[\d*?\[\]!-]+", lower) and fnmatch.filter(codes, name.upper()):
            self._patterns.append(name.upper())
        else:
            return False
        return True

    def __contains__(self, finding):
        number = _number(finding.rule)
        return (
            finding.kind in self._kinds
            or bool(finding.area and finding.area in self._areas)
            or (number is not None and any(low <= number <= high for low, high in self._numbers))
            or any(fnmatch.fnmatchcase(finding.rule, pattern) for pattern in self._patterns)
        )


def counts(finding, places, only, exclude):
    """Whether the finding's file is among those that a check is about."""
    path, relative = places.absolute(finding.file), places.relative(finding.file)
    names = [name for name in (relative, path, finding.file, path and places.shown(finding.file)) if name]
    if any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in exclude):
        return False
    if only:
        return any(_is_meant(path, pattern, names, places) for pattern in only)
    return finding.own


def _is_meant(path, pattern, names, places):
    from .places import is_below

    wanted = places.absolute(pattern)
    if path is not None and wanted is not None and is_below(path, wanted):
        return True
    return any(fnmatch.fnmatchcase(name, pattern) for name in names)
