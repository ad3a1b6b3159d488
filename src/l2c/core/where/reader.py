"""From the words of a condition to its parts, by how tightly its operators bind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from l2c.core.feature import Feature
from l2c.core.where.parts import COMPARISONS, Part, as_condition, column, combined, literal, member, minus, opposite
from l2c.core.where.tokens import Token, Wrong, tokens_of
from l2c.errors import nearest

LONGEST = 2_000
"""The most characters of an expression."""

DEEPEST = 50
"""The most brackets, `not`s and minus signs inside each other; reading and working out go no deeper than this."""

# From the loosest to the tightest. `not` takes a whole comparison, the minus sign of a value that value alone.
_OPERATORS: tuple[tuple[str, ...], ...] = (("or",), ("and",), tuple(COMPARISONS), ("+", "-"), ("*", "/"))
_COMPARED, _ALONE = 2, 5
_RANK = {sign: rank for rank, signs in enumerate(_OPERATORS) for sign in signs} | {"in": _COMPARED, "not": _COMPARED}


class Reader:
    """A walk along the tokens of an expression, by how tightly its operators bind."""

    def __init__(self, source: str, features: Sequence[Feature]) -> None:
        if len(source) > LONGEST:
            what = f"an expression has at most {LONGEST:,} characters, and this one has {len(source):,}"
            raise Wrong(what, Token("end", "", LONGEST, len(source)))
        self.tokens = tokens_of(source)
        self.features = {feature.name: (index, feature) for index, feature in enumerate(features)}
        self.at = 0
        self.depth = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    @property
    def rank(self) -> int:
        """How tightly the next token binds as an operator; -1 if it is none."""
        return _RANK.get(self.next.text, -1) if self.next.kind == "sign" else -1

    def take(self, *signs: str) -> Token | None:
        """Return the next token and step past it, if it is one of these signs."""
        token = self.next
        if token.kind != "sign" or token.text not in signs:
            return None
        self.at += 1
        return token

    def expected(self, what: str) -> Wrong:
        ending = ", but the expression ends" if self.next.kind == "end" else " here"
        return Wrong(f"expected {what}{ending}", self.next)

    def whole(self) -> Part:
        if self.next.kind == "end":
            raise Wrong("the expression is empty", self.next)
        part = self.expression(0)
        if (bracket := self.take(")", "]")) is not None:
            raise Wrong("this bracket closes nothing", bracket)
        if self.next.kind != "end":
            raise self.expected("an operator, such as 'and', or the end")
        return as_condition(part)

    def expression(self, rank: int) -> Part:
        """Return the part that begins here, as far as its operators bind at least as tightly as `rank`.

        Operators of one rank are gathered into one part, so that a long row of them is no deep nest.
        """
        left = self.operand(rank)
        while (here := self.rank) >= rank:
            if (word := self.take("in", "not")) is not None:
                left = self.member(left, word)
                continue
            parts, signs = [left], []
            while (sign := self.take(*_OPERATORS[here])) is not None:
                signs.append(sign.text)
                parts.append(self.expression(here + 1))
            left = combined(parts, signs)
        return left

    def operand(self, rank: int) -> Part:
        token = self.next
        if rank <= _COMPARED and self.take("not"):
            return opposite(token, self.inside(token, _COMPARED))
        if self.take("-"):
            return minus(token, self.inside(token, _ALONE))
        if self.take("("):
            part = self.inside(token, 0)
            return replace(part, start=token.start, end=self.closing(token, ")", "an operator").end)
        if self.take("was"):
            if not self.take("."):
                raise Wrong("'was' is followed by a dot and a feature, as in was.hours", token)
            return replace(self.column(before=True), start=token.start)
        if token.kind in ("number", "text", "truth"):
            self.at += 1
            return literal(token)
        return self.column(before=False)

    def inside(self, opening: Token, rank: int) -> Part:
        """Return the part that stands in a bracket or behind a sign."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise Wrong(f"more than {DEEPEST} brackets, nots and minus signs stand inside each other", opening)
        part = self.expression(rank)
        self.depth -= 1
        return part

    def closing(self, opening: Token, sign: str, instead: str) -> Token:
        """Return the bracket that closes an open one."""
        bracket = self.take(sign)
        if bracket is None and self.next.kind == "end":
            raise Wrong("this bracket is never closed", opening)
        if bracket is None:
            raise self.expected(f"{instead} or {sign!r}")
        return bracket

    def member(self, left: Part, word: Token) -> Part:
        if word.text == "not" and not self.take("in"):
            raise self.expected("'in' after 'not'")
        opening = self.take("[")
        if opening is None:
            raise self.expected("a list in square brackets")
        options = [self.operand(_ALONE)]
        while self.take(","):
            options.append(self.operand(_ALONE))
        closing = self.closing(opening, "]", "','")
        return replace(member(left, options, wanted=word.text == "in"), end=closing.end)

    def column(self, *, before: bool) -> Part:
        token = self.next
        if token.kind != "name":
            raise self.expected("the name of a feature" if before else "a value")
        self.at += 1
        if self.take("("):
            raise Wrong("nothing can be called", token)
        if self.take("."):
            raise Wrong("only 'was' is followed by a dot; a name that holds a dot goes in backticks", token)
        if token.text not in self.features:
            raise Wrong(f"there is no feature {token.text!r}{self.suggestion(token.text)}", token)
        index, feature = self.features[token.text]
        return replace(column(index, feature, before=before), start=token.start, end=token.end)

    def suggestion(self, name: str) -> str:
        """Return what may have been meant by a name that no feature has."""
        if any(name in feature.levels for _, feature in self.features.values()):
            return f"; text goes in quotes: {name!r}"
        near = nearest(name, self.features)
        if name.isidentifier() and any(near.endswith(f" {odd!r}?") for odd in self.features if not odd.isidentifier()):
            return f"{near} (in backticks)"
        return near
