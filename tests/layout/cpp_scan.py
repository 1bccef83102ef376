"""Finds functions and classes in C++ text by its braces, without a compiler; for rules about their lengths."""

import re
from typing import NamedTuple

# Where braces mean nothing: comments, literals, and preprocessor lines with their continuations. A quote after a letter
# or digit separates digits (1'000), unless the letters are the prefix of a literal.
NOISE = re.compile(
    r"""
    ^[ \t]*\#(?:/\*.*?\*/|//[^\n]*|[^\n\\]|\\.)*
  | //(?:[^\n\\]|\\.)*
  | /\*.*?\*/
  | \b(?:u8|[uUL])?R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"
  | "(?:[^"\\\n]|\\.)*"
  | (?:\b(?:u8|[uUL])|(?<!\w))'(?:[^'\\\n]|\\.)+'
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
ACCESS = re.compile(r"^\s*(?:(?:public|protected|private)\s*:(?!:)\s*)+")
TEMPLATE = re.compile(r"^\s*(?:template\s*<|\[\[)")
CLASS = re.compile(r"^(?:typedef\s+|static\s+|inline\s+|constexpr\s+|const\s+|friend\s+)*(?:class|struct|union)\b")
SPACE = re.compile(r"^(?:inline\s+)?namespace\b|^extern\s*\"\s*\"\s*$")
# The end of a lambda's head: [captures] <types> (parameters) mutable -> result.
LAMBDA = re.compile(
    r"(?<![\w)\]])\[[^\[\]]*\]\s*(?:<[^()]*>\s*)?"
    r"(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?[^()\[\]{};,=?]*$"
)
OPEN, CLOSE = "([", ")]"


class Found(NamedTuple):
    kind: str  # "function" or "class"
    head: str  # what stands before the brace, on one line
    line: int  # of the head, from 1
    length: int  # lines from the head to the closing brace


class Scope(NamedTuple):
    kind: str  # "space", "class", "function", "body" (within a function), "value" (initialisers, enumerators, concepts)
    begin: int  # of its head
    brace: int
    depth: int  # of parentheses around it


def without_noise(text):
    """The same text with blanks for comments, literals and preprocessor lines: each place keeps its line and column."""

    def blank(match):
        spaces = re.sub(r"[^\n]", " ", match[0])
        return spaces if match[0].lstrip().startswith(("#", "/")) else f'"{spaces[1:-1]}"'

    return NOISE.sub(blank, text)


def after_brackets(text, at):
    """The place after the bracket that closes the one at `at`: <>, which nest and hold (), or [[]]."""
    pairs = {"<": ">", "[": "]", "(": ")"}
    opened = []
    for place in range(at, len(text)):
        char = text[place]
        if opened and opened[-1] == "(" and char in "<>":
            continue  # comparisons
        if char == ">" and text[place - 1] == "-":
            continue
        if char in pairs:
            opened.append(char)
        elif opened and char == pairs[opened[-1]]:
            opened.pop()
            if not opened:
                return place + 1
    return len(text)


def declaration(head):
    """A head without what may stand before every declaration: access, attributes, template parameters."""
    head = ACCESS.sub("", head)
    while found := TEMPLATE.match(head):
        head = head[after_brackets(head, found.end() - (2 if head[found.end() - 1] == "[" else 1)) :]
        head = re.sub(r"^\s*requires\s*\((?:[^()]|\([^()]*\))*\)", "", head)
    return ACCESS.sub("", head).strip()


def kind_of(head, around, depth):
    """What the brace after this head opens. `around` is the kind of the scope it stands in."""
    words = declaration(head)
    if around in ("function", "body"):
        return "body"
    if LAMBDA.search(words) and not re.search(r"\boperator\s*\[\s*\]", words):
        return "function"
    if around == "value" or depth:
        return "value"
    if SPACE.match(words):
        return "space"
    if CLASS.match(words) and not re.search(r"[=)]\s*$", words):
        return "class"
    plain = re.sub(r"\boperator\s*(?:\(\s*\)|[^\w\s(]+)", "operator", words)
    if re.match(r"(?:typedef\s+)?enum\b", plain) or "(" not in plain:
        return "value"
    parameters = plain.index("(")
    if re.search(r"(?<![=!<>])=(?!=)", plain[:parameters]) and not re.match(r"requires\b", plain):
        return "value"
    return member_initialiser(plain) or "function"


def member_initialiser(head):
    """ "value" where the brace after a constructor's head begins a member's value: X() : a(1), b<T>{."""
    depth, colon = 0, None
    for place, char in enumerate(head):
        depth += (char in OPEN) - (char in CLOSE)
        if char == ":" and depth == 0 and head[place - 1] != ":" and head[place + 1 : place + 2] != ":":
            colon = place
            break
    in_list = colon is not None and head[:colon].rstrip().endswith((")", "noexcept"))
    if in_list and re.search(r"[\w>]\s*$", head):
        return "value"
    return "value" if re.search(r"(?:[(=!]|&&|\|\||\brequires)\s*requires\s*(?:\([^()]*\))?\s*$", head) else None


def scan(text):
    """Every function (a lambda outside of functions is one, too) and every class, in the order in which they end.

    Lambdas and local classes count to the function they stand in, whatever a class holds counts to the class as well.
    """
    text = without_noise(text)
    found, scopes, statement, depth = [], [Scope("space", 0, 0, 0)], 0, 0
    for at in (m.start() for m in re.finditer(r"[(){}\[\];]", text)):
        char, around = text[at], scopes[-1]
        if char in OPEN:
            depth += 1
        elif char in CLOSE:
            depth -= 1
        elif char == ";":
            statement = at + 1 if depth == around.depth else statement
        elif char == "{":
            kind = kind_of(text[statement:at], around.kind, depth - around.depth)
            scopes.append(Scope(kind, statement, at, depth))
            statement = at + 1
        else:
            if len(scopes) == 1 or depth != around.depth:
                raise ValueError(f"line {text.count(chr(10), 0, at) + 1}: a closing brace too many")
            scopes.pop()
            # A value is part of a statement that goes on; everything else ends one.
            goes_on = around.kind == "value" or scopes[-1].kind == "value" or depth > scopes[-1].depth
            statement = around.begin if goes_on and around.kind != "body" else at + 1
            if around.kind in ("function", "class"):
                found.append(measured(text, around, at))
    if len(scopes) != 1 or depth:
        raise ValueError("braces that nothing closes")
    return found


def measured(text, scope, end):
    head = text[scope.begin : scope.brace]
    words = declaration(head)
    begin = scope.begin + len(head) - len(ACCESS.sub("", head).lstrip())
    first = text.count("\n", 0, begin) + 1
    return Found(scope.kind, re.sub(r"\s+", " ", words), first, text.count("\n", 0, end) + 2 - first)
