"""Rules between two features (section 5.4 of the paper): what a rising cause asks of its effect.

A rule speaks of levels: a feature rises if its level is higher than the person's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from l2c.core.types import Levels, Mask

How = Literal["must_rise", "must_not_fall", "only_if"]


@dataclass(frozen=True, slots=True)
class Implies:
    """What `effect` must do when `cause` rises.

    Parameters
    ----------
    cause, effect
        Two ordered features.
    how
        `must_rise`: if the cause rises, the effect rises too, to a strictly higher level. `must_not_fall`: if the
        cause rises, the effect stays or rises. `only_if`: the effect rises only if the cause does.
    """

    cause: str
    effect: str
    how: How = "must_rise"

    def sentence(self) -> str:
        """Return the rule in words.

        >>> Implies("education", "age").sentence()
        'if education rises, age rises'
        >>> Implies("education", "salary", "only_if").sentence()
        'salary rises only if education rises'
        """
        match self.how:
            case "must_rise":
                return f"if {self.cause} rises, {self.effect} rises"
            case "must_not_fall":
                return f"if {self.cause} rises, {self.effect} does not fall"
            case "only_if":
                return f"{self.effect} rises only if {self.cause} rises"


def meets_rule(rule: Implies, names: tuple[str, ...], before: Levels, after: Levels) -> Mask:
    """Return which rows of `after` keep the rule, given the levels `before`.

    Both are levels with features on the last axis; the other axes broadcast.

    >>> before, after = np.array([[1, 1]]), np.array([[2, 1], [2, 2], [0, 0]])
    >>> meets_rule(Implies("education", "age"), ("education", "age"), before, after)
    array([False,  True,  True])
    """
    cause, effect = names.index(rule.cause), names.index(rule.effect)
    cause_rises = after[..., cause] > before[..., cause]
    now, was = after[..., effect], before[..., effect]
    match rule.how:
        case "must_rise":
            return np.asarray(~cause_rises | (now > was))
        case "must_not_fall":
            return np.asarray(~cause_rises | (now >= was))
        case "only_if":
            return np.asarray(cause_rises | (now <= was))


@dataclass(frozen=True, slots=True)
class Bond:
    """One effect with all its causes, as indices of features."""

    effect: int
    causes: tuple[tuple[int, How], ...]

    def may_go(self, rises: Mask) -> tuple[Mask, Mask, Mask]:
        """Return whether the effect may go below, stay at and go above its own level, once its causes are known.

        Parameters
        ----------
        rises
            Which features rise, on the last axis.
        """
        shape = rises.shape[:-1]
        below, same, above = (np.ones(shape, dtype=bool) for _ in range(3))
        for cause, how in self.causes:
            risen = rises[..., cause]
            if how == "must_rise":
                below, same = below & ~risen, same & ~risen
            elif how == "must_not_fall":
                below = below & ~risen
            else:
                above = above & risen
        return below, same, above


def bonds(rules: Iterable[Implies], names: Sequence[str]) -> tuple[Bond, ...]:
    """Return the rules gathered by effect, every effect after its causes.

    >>> bonds([Implies("b", "c"), Implies("a", "b")], ["a", "b", "c"])
    (Bond(effect=1, causes=((0, 'must_rise'),)), Bond(effect=2, causes=((1, 'must_rise'),)))
    """
    causes: dict[int, list[tuple[int, How]]] = {}
    for rule in rules:
        causes.setdefault(names.index(rule.effect), []).append((names.index(rule.cause), rule.how))
    ordered: list[Bond] = []
    while causes:
        ready = [effect for effect, given in causes.items() if not any(cause in causes for cause, _ in given)]
        ordered += [Bond(effect, tuple(causes.pop(effect))) for effect in ready]
    return tuple(ordered)


def cycle(rules: Iterable[Implies]) -> list[str]:
    """Return the names along a circle of rules, or nothing.

    >>> cycle([Implies("a", "b"), Implies("b", "a")])
    ['a', 'b', 'a']
    """
    effects: dict[str, list[str]] = {}
    for rule in rules:
        effects.setdefault(rule.cause, []).append(rule.effect)
    finished: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in finished:
            return []
        for effect in effects.get(name, []):
            found = walk(effect, [*path, name])
            if found:
                return found
        finished.add(name)
        return []

    return next((found for name in effects if (found := walk(name, []))), [])
