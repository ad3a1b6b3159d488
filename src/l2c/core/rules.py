"""Rules between two features (section 5.4 of the paper), checked on levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from l2c.core.types import Levels, Mask


@dataclass(frozen=True, slots=True)
class Implies:
    """If `cause` rises, `effect` must rise too, to a strictly higher level."""

    cause: str
    effect: str

    def sentence(self) -> str:
        """Return the rule in words.

        >>> Implies("education", "age").sentence()
        'if education rises, age rises'
        """
        return f"if {self.cause} rises, {self.effect} rises"


def meets_rule(rule: Implies, names: tuple[str, ...], before: Levels, after: Levels) -> Mask:
    """Return which rows of `after` keep the rule, given the levels `before`.

    Both are levels with features on the last axis; the other axes broadcast.

    >>> before, after = np.array([[1, 1]]), np.array([[2, 1], [2, 2], [0, 0]])
    >>> meets_rule(Implies("education", "age"), ("education", "age"), before, after)
    array([False,  True,  True])
    """
    cause, effect = names.index(rule.cause), names.index(rule.effect)
    cause_rises = after[..., cause] > before[..., cause]
    effect_rises = after[..., effect] > before[..., effect]
    return np.asarray(~cause_rises | effect_rises)
