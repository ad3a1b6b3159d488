"""What counts as reached: a class, one of several, or a probability within a range."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64, Int64

from l2c.core.compiled import Compiled, Inlined, compiles
from l2c.core.types import Mask, Probabilities

ROUNDING = 1e-9
"""How far a lead may fall short of the margin that was asked for: sums of fractions are that inexact."""

_ONE_EACH = np.empty(0, dtype=np.int64)

OfTwo = tuple[
    Bool[np.ndarray, "rows 2"], Float64[np.ndarray, " rows"], Float64[np.ndarray, " rows"], float, float,
    Probabilities, Int64[np.ndarray, " n"],
]  # fmt: skip
"""What loops over the answers of a model of two classes are given (`judged_of_two`)."""


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """What each row of a batch should reach.

    Parameters
    ----------
    accepted
        The classes that will do.
    low, high
        The range in which their probability should be; NaN where the model's decision counts instead.
    threshold
        Where a model of two classes decides: for the second if its probability is above, for the first if it is below.
        None for the most probable class.
    margin
        How far beyond that the decision should lie, so that it stands when the model shifts a little: so much above or
        below the threshold, or twice as much ahead of every other class, which for two classes is the same.
    """

    accepted: Bool[np.ndarray, "rows classes"]
    low: Float64[np.ndarray, " rows"]
    high: Float64[np.ndarray, " rows"]
    threshold: float | None = None
    margin: float = 0.0

    @classmethod
    def of_classes(cls, desired: Int64[np.ndarray, " rows"], classes: int) -> Goal:
        """Return the goal of one class for each row; −1 stands for none, which nothing reaches."""
        nothing = np.full(len(desired), np.nan)
        return cls(desired[:, None] == np.arange(classes)[None, :], nothing, nothing)

    def take(self, rows: Int64[np.ndarray, " some"] | Sequence[int]) -> Goal:
        """Return the goals of some of the rows, which may repeat."""
        # Whole lines are taken: to index them costs a multiple of it.
        accepted = self.accepted.take(rows, axis=0)
        return Goal(accepted, self.low.take(rows), self.high.take(rows), self.threshold, self.margin)

    def within(self, low: Float64[np.ndarray, " rows"], high: Float64[np.ndarray, " rows"]) -> Goal:
        """Return the goal with a range of probability."""
        return replace(self, low=low, high=high)

    def chance(self, proba: Probabilities) -> Float64[np.ndarray, " rows"]:
        """Return the probability that the model gives to the accepted classes together, for each row."""
        first, second = self.accepted[:, 0], self.accepted[:, -1]
        if self.accepted.shape[1] == 2 and (first != second).all():
            return np.where(second, proba[:, 1], proba[:, 0])
        # One class is read, not added to zeros, so that the number is the model's own.
        single = np.take_along_axis(proba, self.accepted.argmax(axis=1)[:, None], axis=1)[:, 0]
        if (self.accepted.sum(axis=1) == 1).all():
            return single
        return np.where(self.accepted, proba, 0.0).sum(axis=1)

    def reached(self, proba: Probabilities) -> Mask:
        """Return which rows are where they should be; a tie with another class is not enough.

        >>> goal = Goal.of_classes(np.array([1, 1]), classes=2)
        >>> goal.reached(np.array([[0.3, 0.7], [0.5, 0.5]]))
        array([ True, False])
        >>> goal.within(np.array([0.6, 0.4]), np.array([0.65, 0.6])).reached(np.array([[0.3, 0.7], [0.5, 0.5]]))
        array([False,  True])
        """
        return self.judged(proba)[0]

    @property
    def ranged(self) -> bool:
        """Whether a range of probability counts for some row."""
        return not np.isnan(self.low).all()

    def judged(
        self, proba: Probabilities, row: Int64[np.ndarray, " n"] | None = None
    ) -> tuple[Mask, Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
        """Return which answers are where they should be, how probable the accepted classes are, and how near they come.

        Nearness is for comparison within a row: more is nearer.

        Parameters
        ----------
        proba, row
            A model's answers, and which of the rows each is for; without it, one for each row.
        """
        of_two = self._of_two(proba, row)
        if of_two is not None:
            return judged_of_two(*of_two)
        return (self if row is None else self.take(row)).judged_at_once(proba)

    def judged_at_once(
        self, proba: Probabilities
    ) -> tuple[Mask, Float64[np.ndarray, " rows"], Float64[np.ndarray, " rows"]]:
        """Return what `judged` returns, all rows at once."""
        chance, lead = self.chance(proba), self.lead(proba)
        decided = np.asarray(lead >= 2 * self.margin - ROUNDING if self.margin else lead > 0)
        if not self.ranged:
            return decided, chance, chance
        free = np.isnan(self.low)
        with np.errstate(invalid="ignore"):
            reached = np.where(free, decided, (chance >= self.low) & (chance <= self.high))
        outside = np.fmax(np.fmax(self.low - chance, chance - self.high), 0.0)
        return reached, chance, np.where(free, chance, -outside)

    def clear(self, proba: Probabilities, by: float, row: Int64[np.ndarray, " n"] | None = None) -> Mask:
        """Return which answers are clear: so far, at least, from another class, another decision, an end of a range.

        `row` is as in `judged`. Beyond 0 and 1 there is nothing, and no range ends there.

        >>> goal = Goal.of_classes(np.array([1, 1]), classes=2).within(np.array([np.nan, 0.6]), np.array([np.nan, 0.7]))
        >>> goal.clear(np.array([[0.3, 0.7], [0.3, 0.7]]), 1e-3)
        array([ True, False])
        """
        of_two = self._of_two(proba, row)
        if of_two is not None:
            return clear_of_two(*of_two, by)
        return (self if row is None else self.take(row)).clear_at_once(proba, by)

    def clear_at_once(self, proba: Probabilities, by: float) -> Mask:
        """Return what `clear` returns, all rows at once."""
        of_one_class = self._class_ahead(proba) >= by
        decided = np.abs(self.lead(proba) - 2 * self.margin) >= by
        if not self.ranged:
            return np.asarray(of_one_class & decided)
        chance, classes = self.chance(proba), self.accepted.sum(axis=1)
        farther = by * classes  # what is off adds up over the classes, and a sum may come out above 1
        with np.errstate(invalid="ignore"):
            away = ((classes == 1) & (self.low <= 0)) | (np.abs(chance - self.low) >= farther)
            away &= ((classes == 1) & (self.high >= 1)) | (np.abs(chance - self.high) >= farther)
        return np.asarray(of_one_class & np.where(np.isnan(self.low), decided, away))

    def _class_ahead(self, proba: Probabilities) -> Float64[np.ndarray, " rows"]:
        """Return how far the class that the model decides for is ahead of the next."""
        if self.threshold is None:
            *_, next_best, best = np.partition(proba, -2, axis=1).T
            return np.asarray(best - next_best)
        return np.abs(2 * (proba[:, 1] - self.threshold))

    def _of_two(self, proba: Probabilities, row: Int64[np.ndarray, " n"] | None) -> OfTwo | None:
        """Return what compiled loops judge answers of a model of two classes by; None where they cannot."""
        fits = row is not None or len(self.accepted) == len(proba)
        if not (compiles() and fits and self.accepted.shape[1] == proba.shape[1] == 2):
            return None
        middle, row = np.nan if self.threshold is None else self.threshold, _ONE_EACH if row is None else row
        return self.accepted, self.low, self.high, middle, self.margin, np.ascontiguousarray(proba), row

    def lead(self, proba: Probabilities) -> Float64[np.ndarray, " rows"]:
        """Return how far each row's accepted classes are ahead of the others; above 0 the model decides for one.

        >>> goal = replace(Goal.of_classes(np.array([1, 0]), classes=2), threshold=0.25)
        >>> goal.lead(np.array([[0.5, 0.5], [0.5, 0.5]]))
        array([ 0.5, -0.5])
        """
        if self.threshold is None and self.accepted.shape[1] == 2:
            return self._lead_of_second(proba[:, 1] - proba[:, 0])
        if self.threshold is None:
            best = np.where(self.accepted, proba, -np.inf).max(axis=1)
            return best - np.where(self.accepted, -np.inf, proba).max(axis=1)
        # Both sides are told by the second class's own probability: the first one's may be rounded another way.
        return self._lead_of_second(2 * (proba[:, 1] - self.threshold))

    def _lead_of_second(self, above: Float64[np.ndarray, " rows"]) -> Float64[np.ndarray, " rows"]:
        """Return the lead of the accepted ones of two classes, given how far the second is ahead."""
        first, second = self.accepted[:, 0], self.accepted[:, 1]
        lead = np.where(second, above, -above)
        if (first != second).all():
            return lead
        return np.where(first == second, np.where(first, np.inf, -np.inf), lead)


def judged_by_all(
    goal: Goal, answers: Iterable[Probabilities], row: Int64[np.ndarray, " n"] | None = None
) -> tuple[Mask, Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
    """Return what is where it should be under every model, and of what they say the least probability and nearness.

    `row` is as in `Goal.judged`.

    >>> goal = Goal.of_classes(np.array([1, 1]), classes=2)
    >>> one, other = np.array([[0.2, 0.8], [0.4, 0.6]]), np.array([[0.3, 0.7], [0.9, 0.1]])
    >>> reached, chance, _ = judged_by_all(goal, [one, other])
    >>> reached.tolist(), chance.tolist()
    ([True, False], [0.7, 0.1])
    """
    first, *rest = (goal.judged(proba, row) for proba in answers)
    reached, chance, near = first
    for others in rest:
        reached, chance, near = reached & others[0], np.minimum(chance, others[1]), np.minimum(near, others[2])
    return reached, chance, near


@Compiled
def judged_of_two(
    accepted: Bool[np.ndarray, "rows 2"],
    low: Float64[np.ndarray, " rows"],
    high: Float64[np.ndarray, " rows"],
    threshold: float,
    margin: float,
    proba: Probabilities,
    row: Int64[np.ndarray, " n"],
) -> tuple[Mask, Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
    """Return what `Goal.judged` returns of a model of two classes.

    Its threshold is NaN where it has none, and there are no rows where there is one answer for each.
    """
    count = len(proba)
    reached, chance, near = np.empty(count, np.bool_), np.empty(count), np.empty(count)
    for n in range(count):
        r = row[n] if len(row) else n
        lead, share = _lead_and_share(accepted[r, 0], accepted[r, 1], threshold, proba[n, 0], proba[n, 1])
        if np.isnan(low[r]):
            reached[n], near[n] = lead >= 2 * margin - ROUNDING if margin else lead > 0, share
        else:
            reached[n] = low[r] <= share <= high[r]
            near[n] = -max(low[r] - share, share - high[r], 0.0)
        chance[n] = share
    return reached, chance, near


@Compiled
def clear_of_two(
    accepted: Bool[np.ndarray, "rows 2"],
    low: Float64[np.ndarray, " rows"],
    high: Float64[np.ndarray, " rows"],
    threshold: float,
    margin: float,
    proba: Probabilities,
    row: Int64[np.ndarray, " n"],
    by: float,
) -> Mask:
    """Return what `Goal.clear` returns of a model of two classes; threshold and rows are as in `judged_of_two`."""
    clear = np.empty(len(proba), np.bool_)
    for n in range(len(proba)):
        r = row[n] if len(row) else n
        first, second, behind, ahead = accepted[r, 0], accepted[r, 1], proba[n, 0], proba[n, 1]
        lead, share = _lead_and_share(first, second, threshold, behind, ahead)
        if np.isnan(low[r]):
            away = abs(lead - 2 * margin) >= by
        else:
            one, farther = first != second, by * (int(first) + int(second))
            away = (one and low[r] <= 0) or abs(share - low[r]) >= farther
            away &= (one and high[r] >= 1) or abs(share - high[r]) >= farther
        clear[n] = away and abs(_second_ahead(threshold, behind, ahead)) >= by
    return clear


@Inlined
def _lead_and_share(first: bool, second: bool, threshold: float, behind: float, ahead: float) -> tuple[float, float]:
    """Return how far the accepted ones of two classes are ahead, and their probability, given that of each."""
    above = _second_ahead(threshold, behind, ahead)
    if first == second:
        return (np.inf, behind + ahead) if first else (-np.inf, 0.0)
    return (above, ahead) if second else (-above, behind)


@Inlined
def _second_ahead(threshold: float, behind: float, ahead: float) -> float:
    """Return how far the second of two classes is ahead, given the probability of each."""
    return ahead - behind if np.isnan(threshold) else 2 * (ahead - threshold)
