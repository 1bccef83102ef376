"""Numbers as the report says them."""


def duration(seconds):
    """ "1.2 s", "3.4 ms", "120 µs"; "-" where it is not known."""
    if seconds is None:
        return "-"
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= size:
            value = seconds / size
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return "0" if not seconds else "< 1 µs"


def amount(count):
    """ "1,234"."""
    return f"{count:,}"


def many(count, one, more=None):
    """ "1 break", "3 breaks"."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def share(part):
    """ "12 %"; "-" where it is not known."""
    if part is None:
        return "-"
    percent = 100 * part
    return f"{percent:.0f} %" if percent >= 1 or not percent else "< 1 %"


def size(count):
    """ "1.5 MB"."""
    for unit, whole in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= whole:
            return f"{count / whole:.3g} {unit}"
    return f"{count:.0f} B"


def sentence(text):
    """With a capital letter, unless it begins with a name of the program or of ours."""
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.isalpha() else text
