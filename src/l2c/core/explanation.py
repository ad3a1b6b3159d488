"""What came out: an outcome for every input row, and the counterfactuals that were released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.layout import Layout
from l2c.core.types import Cells, Label, Levels, Mask

Status = Literal["found", "partial", "already", "none_valid", "infeasible", "withheld", "bad_input"]
"""found: as many as asked; partial: fewer; already: the row has the desired outcome; none_valid: the budget
ended without one; infeasible: none can exist; withheld: a privacy policy forbids it; bad_input: the row cannot
be read."""

ANSWERED: tuple[Status, ...] = ("found", "partial", "none_valid")
"""The outcomes that count in the denominators of validity and coverage; the others are counted beside them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one input row ended, with a sentence that says what to do about it.

    `found` counts what was released, `tries` the proposals judged, and `valid` those of them that were valid: the
    pool from which the released ones were chosen.
    """

    status: Status
    sentence: str
    found: int = 0
    tries: int = 0
    valid: int = 0


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
    outcomes
        How each input row ended.
    row, rank
        For each counterfactual, the position of its input row, and its place in that row's set from 1 on.
    levels, cells
        The counterfactuals by level and by value.
    chance
        The model's probability of the desired class for each counterfactual.
    valid
        Whether the model puts it in the desired class.
    """

    layout: Layout
    classes: tuple[Label, ...]
    asked: int
    factual: Cells
    current: Int64[np.ndarray, " rows"]
    desired: Int64[np.ndarray, " rows"]
    outcomes: tuple[Outcome, ...]
    row: Int64[np.ndarray, " found"]
    rank: Int64[np.ndarray, " found"]
    levels: Levels
    cells: Cells
    chance: Float64[np.ndarray, " found"]
    valid: Mask

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
