"""What came out: an outcome for every input row, and the counterfactuals that were released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.costs import costs_of
from l2c.core.goal import Goal
from l2c.core.layout import Layout
from l2c.core.types import Cells, Label, Levels, Mask

Status = Literal["found", "partial", "already", "none_valid", "infeasible", "withheld", "bad_input"]
"""found: as many as asked; partial: fewer; already: the row has the desired outcome; none_valid: the budget
ended without one; infeasible: none can exist; withheld: a privacy policy forbids it; bad_input: the row cannot
be read."""

ANSWERED: tuple[Status, ...] = ("found", "partial", "none_valid")
"""The outcomes that count in the denominators of validity and coverage; the others are counted beside them."""

Release = Literal["values", "intervals"]
"""How what leaves speaks of numbers: by value, or by interval over public edges."""


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A smallest change of the request with which a counterfactual is found.

    Parameters
    ----------
    limit
        What is relaxed: `max_changes`, `min_sparsity`, `max_changes and min_sparsity`, `max_cost`, `lock`,
        `permit`, `forbid`, `where`, `desired_proba` or `robust`; or `all`, where only several together help.
    feature
        The feature that it is about, where it is about one.
    value
        What it would have to be: a number of changes, a share, a cost, a probability, a value that is permitted
        too; or what would have to go: a condition, or a transition in words. None for a lock and for all.
    sentence
        The same in words.
    """

    limit: str
    feature: str | None
    value: object
    sentence: str


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a row got none, or fewer than asked.

    Parameters
    ----------
    proven
        Whether it is certain that there are no more, and not only that the search found none.
    relaxations
        What would help, the smallest first; each was tried and found to.
    """

    proven: bool
    relaxations: tuple[Relaxation, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the reason as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reason:
        """Return the reason that `to_dict` wrote."""
        return cls(data["proven"], tuple(Relaxation(**relaxation) for relaxation in data["relaxations"]))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one input row ended, with a sentence that says what to do about it.

    `found` counts what was released, `tries` the proposals judged, and `valid` those of them that were valid: the
    pool from which the released ones were chosen. Where there are fewer than asked, `reason` says why.
    """

    status: Status
    sentence: str
    found: int = 0
    tries: int = 0
    valid: int = 0
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The numbers that a model predicts: for each input row, NaN where it cannot be read, and each counterfactual."""

    before: Float64[np.ndarray, " rows"]
    after: Float64[np.ndarray, " found"]

    def of_found(self, which: np.ndarray) -> Measured:
        """Return the numbers with those of some counterfactuals alone."""
        return Measured(self.before, self.after[which])

    def among(self, places: np.ndarray, rows: int) -> Measured:
        """Return the numbers of input rows that stand at these places among more rows."""
        before = np.full(rows, np.nan)
        before[places] = self.before
        return Measured(before, self.after)


LINES = ("row", "levels", "cells", "chance", "predicted", "valid")
"""What a release tells of each counterfactual by itself, a line each; its rank depends on the others of its row."""


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """The numbers of a release: input rows, and their counterfactuals in one long table.

    Parameters
    ----------
    layout
        The features and their levels.
    classes
        The model's class labels.
    asked
        How many counterfactuals were asked for each row.
    factual
        The input rows; a row that cannot be read is all NaN.
    current, desired
        The class of each input row, and the one it should have, as indices; -1 where there is none.
    goal
        What counts as reached: the desired class, unless more was said.
    outcomes
        How each input row ended.
    row, rank
        For each counterfactual, the position of its input row, and its place in that row's set from 1 on.
    levels, cells
        The counterfactuals by level and by value.
    chance
        The model's probability of the desired class for each counterfactual.
    predicted
        The class that the model puts each counterfactual in.
    valid
        Whether it reaches its row's goal.
    measured
        What a model that predicts a number says of the rows; None for one that tells classes apart.
    share_valid
        In an interval release, the share of each counterfactual's box that reaches the goal; None where values leave.
    coarse
        For each input row the step of the ladder of coarser levels in which its quasi-identifiers are told, 0 for
        their own levels; None where a policy did not ask for it.
    """

    layout: Layout
    classes: tuple[Label, ...]
    asked: int
    factual: Cells
    current: Int64[np.ndarray, " rows"]
    desired: Int64[np.ndarray, " rows"]
    goal: Goal
    outcomes: tuple[Outcome, ...]
    row: Int64[np.ndarray, " found"]
    rank: Int64[np.ndarray, " found"]
    levels: Levels
    cells: Cells
    chance: Float64[np.ndarray, " found"]
    predicted: Int64[np.ndarray, " found"]
    valid: Mask
    measured: Measured | None = None
    share_valid: Float64[np.ndarray, " found"] | None = None
    coarse: Int64[np.ndarray, " rows"] | None = None

    @property
    def cost(self) -> Float64[np.ndarray, " found"]:
        """What each change costs in all."""
        own = self.layout.levels(self.factual)
        return costs_of(self.layout, self.factual, own, self.row, self.cells, self.levels)

    @property
    def answered(self) -> Mask:
        """Which input rows count: those that were explained or should have been."""
        return np.array([outcome.status in ANSWERED for outcome in self.outcomes], dtype=bool)

    @property
    def tries(self) -> int:
        """The number of proposals judged over all rows."""
        return sum(outcome.tries for outcome in self.outcomes)

    @property
    def pooled(self) -> int:
        """The number of valid ones among them, released or not."""
        return sum(outcome.valid for outcome in self.outcomes)
