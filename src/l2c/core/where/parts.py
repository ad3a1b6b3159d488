"""What the parts of a condition mean: how each is worked out for every row at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from math import inf, nan
from typing import Any, Literal

import numpy as np

from l2c.core.feature import Feature
from l2c.core.types import Cells, Label
from l2c.core.where.tokens import Token, Wrong
from l2c.errors import nearest

Sort = Literal["condition", "number", "level", "literal"]
"""What a part of an expression is; a `literal` is text, true or false, and means something beside a feature alone."""

Work = Callable[[Cells, Cells], Any]
"""How a part is worked out: from the released values and the person's own to a value for every row."""

# A missing value, NaN, answers no to each of these, to the last one too.
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": lambda left, right: np.less(left, right) | np.greater(left, right),
}
_CALCULATE = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of an expression: where it stands, what sort of value it has, and how to work it out.

    `reads` are the columns it needs, each as (the person's own?, feature); `feature` is the one whose level it is;
    `literal` is the value, if it was written out; `parts` must all hold, in an `and` or a chain of comparisons.
    """

    start: int
    end: int
    sort: Sort
    work: Work
    reads: frozenset[tuple[bool, int]] = frozenset()
    feature: Feature | None = None
    literal: Label | None = None
    parts: tuple[Part, ...] = ()

    def __str__(self) -> str:
        if self.feature is not None:
            return f"a level of {self.feature.name!r}"
        if self.sort == "literal":
            return "text" if isinstance(self.literal, str) else "true or false"
        return f"a {self.sort}"


def as_condition(part: Part) -> Part:
    if part.sort != "condition":
        raise Wrong(f"this is {part}, and a condition is needed here; compare it with something", part)
    return part


def as_number(part: Part) -> Part:
    if part.sort != "number":
        raise Wrong(f"this is {part}, and only numbers can be calculated with", part)
    return part


def _alike(left: Part, right: Part) -> tuple[Work, Work]:
    """Return how to work out both sides of a comparison on the same scale, or raise if there is none."""
    for part in (left, right):
        if part.sort == "condition":
            raise Wrong("this is a condition, and cannot be compared; join conditions with 'and' and 'or'", part)
    if left.feature and right.literal is not None:
        return left.work, _code(left.feature, right)
    if right.feature and left.literal is not None:
        return _code(right.feature, left), right.work
    if left.sort == right.sort == "literal":
        raise Wrong("two written values are compared; one side must be a feature", right)
    if left.sort != right.sort:
        raise Wrong(f"this is {right}, and cannot be compared with {left}", right)
    if left.feature and right.feature and _exact(left.feature.levels) != _exact(right.feature.levels):
        raise Wrong(f"this has other levels than {left.feature.name!r}, and cannot be compared with it", right)
    return left.work, right.work


def _code(feature: Feature, part: Part) -> Work:
    """Return the place of a written value among the levels of a feature."""
    known, (wanted,) = _exact(feature.levels), _exact([part.literal])
    if wanted in known:
        return _constant(known.index(wanted))
    some = ", ".join(map(repr, feature.levels[:6])) + (", …" if len(feature.levels) > 6 else "")
    hint = nearest(part.literal, feature.levels) or f"; its levels are {some}"
    raise Wrong(f"{feature.name!r} has no level {part.literal!r}{hint}", part)


def _exact(values: Sequence[Label | None]) -> list[tuple[bool, Label | None]]:
    """Return values in such a way that True and 1 are not equal."""
    return [(isinstance(value, bool), value) for value in values]


def literal(token: Token) -> Part:
    """Return a value that was written out: a number, a text, true or false."""
    if token.kind == "text":
        return Part(token.start, token.end, "literal", _constant(nan), literal=token.text)
    if token.kind == "truth":
        return Part(token.start, token.end, "literal", _constant(nan), literal=token.text.lower() == "true")
    number = float(token.text)
    if number == inf:
        raise Wrong("this number is too large", token)
    literal = int(token.text) if token.text.isdigit() else number  # as it was written, for messages
    return Part(token.start, token.end, "number", _constant(number), literal=literal)


def _constant(number: float) -> Work:
    return lambda _now, _was: np.float64(number)


def column(index: int, feature: Feature, *, before: bool) -> Part:
    """Return the value of a feature: a number if that is what it or all its levels are, else the index of its level."""

    def cells(now: Cells, was: Cells) -> Any:
        return (was if before else now)[..., index]

    reads = frozenset([(before, index)])
    if feature.numeric:
        return Part(0, 0, "number", cells, reads)
    if any(isinstance(level, bool | str) for level in feature.levels):
        return Part(0, 0, "level", cells, reads, feature)
    values = np.array([*feature.levels, nan], dtype=np.float64)  # the last is for missing

    def numbers(now: Cells, was: Cells) -> Any:
        codes = cells(now, was)
        return values[np.where(np.isnan(codes), -1, codes).astype(np.intp)]

    return Part(0, 0, "number", numbers, reads)


def combined(parts: Sequence[Part], signs: Sequence[str]) -> Part:
    """Return the part that operators of one rank make of others."""
    if signs[0] == "or":
        return _joined(np.logical_or, parts)
    if signs[0] == "and":
        return all_of(parts)
    if signs[0] in _CALCULATE:
        return calculated(parts, signs)
    links = [compared(left, sign, right) for (left, right), sign in zip(pairwise(parts), signs, strict=True)]
    return links[0] if len(links) == 1 else all_of(links)


def opposite(sign: Token, part: Part) -> Part:
    work = as_condition(part).work
    return Part(sign.start, part.end, "condition", lambda now, was: np.logical_not(work(now, was)), part.reads)


def minus(sign: Token, part: Part) -> Part:
    """Return a number with its sign turned."""
    work = as_number(part).work
    literal = -part.literal if isinstance(part.literal, int | float) else None
    return replace(part, start=sign.start, work=lambda now, was: np.negative(work(now, was)), literal=literal)


def calculated(parts: Sequence[Part], signs: Sequence[str]) -> Part:
    """Return what the operators make of the numbers, from left to right; what is not finite counts as missing."""
    first, *others = (as_number(part).work for part in parts)

    def work(now: Cells, was: Cells) -> Any:
        total = first(now, was)
        for sign, other in zip(signs, others, strict=True):
            total = _CALCULATE[sign](total, other(now, was))
        return np.where(np.isfinite(total), total, nan)

    return _spanning(parts, "number", work)


def compared(left: Part, sign: str, right: Part) -> Part:
    """Return the condition that two values stand to each other as the sign says."""
    one, other = _alike(left, right)
    for part in (left, right):
        if part.feature and not part.feature.ordered and sign not in ("==", "!="):
            raise Wrong(f"{part.feature.name!r} is categorical and has no order; declare it ordinal", part)
    ask = COMPARISONS[sign]
    return _spanning([left, right], "condition", lambda now, was: ask(one(now, was), other(now, was)))


def member(left: Part, options: Sequence[Part], *, wanted: bool) -> Part:
    """Return whether a value is there, and among written ones or not."""
    for option in options:
        if option.literal is None:
            raise Wrong("a list holds only numbers, texts in quotes, true and false", option)
    choices = [_alike(left, option)[1] for option in options]

    def work(now: Cells, was: Cells) -> Any:
        value = left.work(now, was)
        return ~np.isnan(value) & (np.isin(value, [choice(now, was) for choice in choices]) == wanted)

    return _spanning([left, *options], "condition", work)


def all_of(parts: Sequence[Part]) -> Part:
    return replace(_joined(np.logical_and, parts), parts=tuple(parts))


def _joined(operator: np.ufunc, parts: Sequence[Part]) -> Part:
    for part in parts:
        as_condition(part)
    return _spanning(parts, "condition", lambda now, was: reduce(operator, (part.work(now, was) for part in parts)))


def _spanning(parts: Sequence[Part], sort: Sort, work: Work) -> Part:
    """Return the part that is made of others, and stands and reads where they do."""
    reads = frozenset(column for part in parts for column in part.reads)
    return Part(parts[0].start, parts[-1].end, sort, work, reads)
