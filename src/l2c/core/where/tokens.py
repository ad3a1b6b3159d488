"""The words and signs of a condition, and how an error points at one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol


class Stretch(Protocol):
    """Something that stands between two places of an expression."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Token:
    """A word or sign of an expression: a number, a text, a truth, a name, a sign of the language, or the end."""

    kind: str
    text: str
    start: int
    end: int


class Wrong(Exception):  # noqa: N818 - a note to `parse_condition`, which words the error
    """What is wrong with an expression, and where."""

    def __init__(self, what: str, where: Stretch) -> None:
        super().__init__(what)
        self.start, self.end = where.start, where.end


_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`"""
SPACE_OR_QUOTED = re.compile(rf"\s+|(?P<quoted>{_QUOTED})")
_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign><=|>=|==|!=|[-+*/<>()\[\],.])"
    rf"|(?P<quoted>{_QUOTED})"
)
_KEYWORDS = dict.fromkeys(("and", "or", "not", "in", "was"), "sign")
_KEYWORDS |= dict.fromkeys(("true", "false", "True", "False"), "truth")
_INSTEAD = {
    "=": "==", "!": "'not' or !=", "&": "'and'", "|": "'or'", "≤": "<=", "≥": ">=", "≠": "!=", "−": "-", "×": "*",
    "÷": "/", "‘": "'", "’": "'", "“": '"', "”": '"',
}  # fmt: skip


def tokens_of(source: str) -> list[Token]:
    """Return the words and signs of an expression; the last is its end."""
    tokens: list[Token] = []
    at = 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None:
            raise _unreadable(source, at)
        kind, text = str(found.lastgroup), found[0]
        if kind == "quoted":
            kind, text = "name" if text[0] == "`" else "text", text[1:-1].replace(text[0] * 2, text[0])
        elif kind == "name":
            kind = _KEYWORDS.get(text, "name")
        if kind != "space":
            tokens.append(Token(kind, text, at, found.end()))
        at = found.end()
    return [*tokens, Token("end", "", at, at + 1)]


def _unreadable(source: str, at: int) -> Wrong:
    sign = source[at]
    if sign in "'\"`":
        return Wrong("this quote is never closed", Token("end", "", at, len(source)))
    instead = f"; write {_INSTEAD[sign]}" if sign in _INSTEAD else ""
    return Wrong(f"{sign!r} means nothing here{instead}", Token("sign", sign, at, at + 1))


def pointed(source: str, wrong: Wrong, width: int = 100) -> str:
    """Return what is wrong, the expression (or what is around the spot, if it is long), and carets under the spot."""
    if not source:
        return f"where: {wrong}"
    line = "".join(sign if sign.isprintable() else " " for sign in source)
    first = max(0, min(wrong.start - width // 2, len(line) - width))
    last = first + width
    shown = line[first:last]
    if first > 0:
        shown = "…" + shown[1:]
    if last < len(line):
        shown = shown[:-1] + "…"
    carets = "^" * max(1, min(wrong.end, last) - wrong.start)
    return f"where: {wrong}\n  {shown}\n  {' ' * (wrong.start - first)}{carets}"
