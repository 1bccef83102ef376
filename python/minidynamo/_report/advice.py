"""What to do first: the causes that cost most, each as a sentence with its place and a way out."""

from .words import duration, many

_MOST = 3
_LONGEST = 90
_LEAST_SHARE = 0.01  # of the run, that a function without a known cause takes to be named


def first(model):
    """Up to three causes, the dearest first: dictionaries with text, hint, anchor, seconds and cause."""
    measured = model["has_costs"]
    plain = _plain_seconds(model)
    least = _LEAST_SHARE * (model["program"]["seconds"] or 0.0)
    rows = [_of_break(met, plain, measured) for met in model["breaks"]]
    rows += [_of_recompile(each, plain) for each in _causes(model["recompiles"])]
    rows += [_of_plain(function) for function in model["functions"] if _is_unexplained(function, plain, least)]
    if measured:
        rows.sort(key=lambda row: (-row["seconds"], -row["times"]))
    else:  # how long they took nobody knows
        rows.sort(key=lambda row: (row["cause"] != "break", -row["seconds"], -row["times"]))
    return rows[:_MOST]


def _causes(recompiles):
    """Those at unnamed values of a function are told with the named one that changed in the same way."""
    named, rows = {}, []
    for each in recompiles:
        if not each["place"].startswith("___stack"):
            named.setdefault((each["function"], each["guard_kind"], each["hint"]), each["id"])
    more = {}
    for each in recompiles:
        same = named.get((each["function"], each["guard_kind"], each["hint"]))
        if each["place"].startswith("___stack") and same:
            more[same] = more.get(same, 0.0) + each["seconds"]
        else:
            rows.append(each)
    return [{**each, "seconds": each["seconds"] + more.get(each["id"], 0.0)} for each in rows]


def _plain_seconds(model):
    """{id of a break or recompilation: seconds in plain Python because of it}: of functions it made skip or limit."""
    known, found = {met["id"]: met for met in model["breaks"]}, {}
    times = {each["id"]: each["times"] for each in model["recompiles"]}
    for function in model["functions"]:
        if not function["plain_seconds"]:
            continue
        skipping = [
            b for b in function["breaks"] if "skipped" in known[b]["outcomes"] or "plain" in known[b]["outcomes"]
        ]
        if function["limits"] and function["recompiles"]:
            cause = max(function["recompiles"], key=lambda r: times[r])
        elif skipping:
            cause = skipping[0]
        else:
            continue
        found[cause] = found.get(cause, 0.0) + function["plain_seconds"]
    return found


def _is_unexplained(function, plain, least):
    """It runs as plain Python, and no break or recompilation is known to be the cause."""
    known = {*function["breaks"], *function["recompiles"]} & {*plain}
    return bool(function["errors"] or (function["plain_seconds"] > least and not known))


def _of_plain(function):
    reason = next(iter([*function["errors"], *function["skips"]]), "no reason was recorded")
    hint = "Look for the reason with `python -m minidynamo explain WORDS`."
    if not function["skips"]:
        hint = "Nothing of these frames could be compiled, or another thread was compiling the function."
    if function["errors"]:
        hint = "This is a defect of minidynamo: please report it with the program."
    return {
        "cause": "plain", "place": f"{function['name']}() of {function['short']}", "code": "",
        "how": f"ran as plain Python {many(function['plain_calls'], 'time')}: {_code(reason)}",
        "cost": duration(function["plain_seconds"]), "seconds": function["plain_seconds"],
        "times": function["plain_calls"], "anchor": function["id"], "hint": hint, "registry": None,
    }  # fmt: skip


def _code(text):
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _of_break(met, plain, measured):
    executed = met["stack"][-1]["executed"] if met["stack"] else ""
    seconds = met["own_seconds"] + plain.get(met["id"], 0.0)
    times = met["runs"] or met["traces"]
    how = (
        f"broke the graph {many(times, 'time')}" if met["runs"] else f"breaks the graph ({many(times, 'compilation')})"
    )
    if "raised" in met["outcomes"]:
        how = "stops compilation with an error"
    elif plain.get(met["id"]):
        how = f"makes {met['function']} run as plain Python"
    return {
        "cause": "break", "place": f"line {met['line']} of {met['short']}", "code": _code(executed or met["title"]),
        "how": how,
        "cost": duration(seconds) if measured else "", "seconds": seconds, "times": times, "anchor": met["id"],
        "hint": met["hints"][0] if met["hints"] else met["explanation"], "registry": met["code"],
    }  # fmt: skip


def _of_recompile(each, plain):
    seconds = each["seconds"] + plain.get(each["id"], 0.0)
    what = each["place"] or each["guard"]
    values = (
        f" from {_code(each['changes'][0][0])} to {_code(each['changes'][0][1])}" if any(each["changes"][0]) else ""
    )
    how = f"changed{values} and made {each['function']} be compiled again {many(each['times'], 'time')}"
    if plain.get(each["id"]):
        how += ", then run as plain Python"
    return {
        "cause": "recompile", "place": f"{each['function']}() of {each['short']}", "code": _code(what), "how": how,
        "cost": duration(seconds), "seconds": seconds, "times": each["times"], "anchor": each["id"],
        "hint": each["hint"], "registry": None,
    }  # fmt: skip
