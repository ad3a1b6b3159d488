"""What must hold between the released values and the person's own, written as an expression.

`hours <= was.hours + 10 and savings >= credit * 0.1`: a name is the released value of a feature; with `was.` before it,
it is the value that the person came with. The whole language::

    either   = both {"or" both}
    both     = negated {"and" negated}
    negated  = "not" negated | compared
    compared = sum {("<" | "<=" | ">" | ">=" | "==" | "!=") sum} | sum ["not"] "in" "[" literal {"," literal} "]"
    sum      = product {("+" | "-") product}
    product  = signed {("*" | "/") signed}
    signed   = "-" signed | value
    value    = number | text | "true" | "false" | ["was" "."] name | "(" either ")"

Text stands in single or double quotes. A name that is no identifier, or is a word of the language, stands in backticks.
A quote inside its own sort of quotes is doubled. Nothing can be called or assigned, and Python never sees the text.

A number is compared as a number, a level by its place among the levels of its feature. A comparison with a missing
value is false, whatever it asks; so is one with a number that does not exist, such as one divided by zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from l2c.core.feature import Feature
from l2c.core.types import Cells, Mask
from l2c.core.where.parts import Part
from l2c.core.where.reader import DEEPEST, LONGEST, Reader
from l2c.core.where.tokens import SPACE_OR_QUOTED, Wrong, pointed
from l2c.errors import InputError

__all__ = ["DEEPEST", "LONGEST", "Condition", "parse_condition"]


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression that was read and found sound; `parse_condition` makes it.

    Two are equal if they read the same and speak of the same features.

    Parameters
    ----------
    text
        The expression as it was written.
    released, before
        The positions of the features that it reads: their released values, and the person's own.
    features
        The features that its names stand for.
    """

    text: str
    released: frozenset[int]
    before: frozenset[int]
    features: tuple[Feature, ...] = field(repr=False, hash=False)
    _part: Part = field(repr=False, compare=False)

    def holds(self, now: Cells, was: Cells) -> Mask:
        """Return where the condition holds.

        Both tables have the features on the last axis; the other axes broadcast. Columns that the expression does not
        name are not looked at.
        """
        shape = np.broadcast_shapes(now.shape[:-1], was.shape[:-1])
        with np.errstate(all="ignore"):
            answer = self._part.work(now, was)
        return np.array(np.broadcast_to(answer, shape), dtype=bool)

    def conjuncts(self) -> tuple[Condition, ...]:
        """Return the conditions that must all hold for this one to hold, each in its own words.

        >>> features = [Feature(name="hours", kind="numeric"), Feature(name="savings", kind="numeric")]
        >>> [part.text for part in parse_condition("20 <= hours <= 45 and savings > 0", features).conjuncts()]
        ['20 <= hours', 'hours <= 45', 'savings > 0']
        """
        if not self._part.parts:
            return (self,)
        return tuple(_condition(self.text, part, self.features) for part in _conjuncts(self._part))

    def sentence(self) -> str:
        """Return the expression on one line, with a single space wherever there was any."""
        return SPACE_OR_QUOTED.sub(lambda found: found["quoted"] or " ", self.text)


def parse_condition(text: str, features: Sequence[Feature]) -> Condition:
    """Return the condition that an expression states about these features.

    Raises
    ------
    InputError
        If it is no expression, or speaks of what is not there; the message points at the spot.

    Examples
    --------
    >>> job = Feature(name="job", kind="categorical", levels=("clerk", "nurse"))
    >>> features = [Feature(name="hours", kind="numeric"), job]
    >>> condition = parse_condition("hours <= was.hours + 10 and job == 'nurse'", features)
    >>> condition.holds(now=np.array([[40.0, 1.0], [41.0, 1.0], [40.0, 0.0]]), was=np.array([30.0, 0.0]))
    array([ True, False, False])
    >>> parse_condition("hour <= 40", features)
    Traceback (most recent call last):
    l2c.errors.InputError: where: there is no feature 'hour'; did you mean 'hours'?
      hour <= 40
      ^^^^
    """
    source = text.strip()
    try:
        return _condition(source, Reader(source, features).whole(), tuple(features))
    except Wrong as wrong:
        raise InputError(pointed(source, wrong)) from None


def _condition(source: str, part: Part, features: tuple[Feature, ...]) -> Condition:
    released, before = (frozenset(index for own, index in part.reads if own is which) for which in (False, True))
    return Condition(source[part.start : part.end], released, before, features, part)


def _conjuncts(part: Part) -> Iterator[Part]:
    """Yield the parts that must all hold, also those inside brackets."""
    if not part.parts:
        yield part
    for inner in part.parts:
        yield from _conjuncts(inner)
