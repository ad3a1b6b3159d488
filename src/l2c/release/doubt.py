"""A second look at rows that got nothing by a twin's judgement: does the model see what they may become as it does?

What is released the model judges itself; of a row that gets nothing it would otherwise never hear. Each row is looked
at by itself, so that the others of its batch change nothing.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int64

from l2c.core.costs import changes_of
from l2c.core.method import Proposer
from l2c.core.types import Levels, Mask
from l2c.release.budget import Clock
from l2c.release.jury import Jury

DRAWS = 16
"""Draws of a row, from an even law, that are looked at: one that is tilted by what a twin says would follow it."""

PIECE = 1024
"""Rows that the model is asked about at once, so that the clock is looked at in between."""


def misjudged(
    jury: Jury, proposer: Proposer, start: int, rows: Int64[np.ndarray, " some"], expired: Clock, *, twice: bool
) -> Int64[np.ndarray, " fewer"]:
    """Return those of the rows for which the model decides about a proposal otherwise than its twin.

    Parameters
    ----------
    proposer, start
        Who draws for the whole batch, and the place of the jury's first row in it.
    twice
        Whether the second choice of values is looked at, too.
    """
    row, levels = _changes(jury, proposer, start, rows)
    second = np.zeros(len(row), dtype=bool)
    if twice:
        two = np.flatnonzero(jury.has_others(row, levels))
        second = np.append(second, np.ones(len(two), dtype=bool))
        row, levels = np.append(row, row[two]), np.append(levels, levels[two], axis=0)
    wrong = np.zeros(len(row), dtype=bool)
    for begin in range(0, len(row), PIECE):
        part = slice(begin, begin + PIECE)
        if not expired():
            wrong[part] = _is_wrong(jury, row[part], levels[part], second[part])
    return np.unique(row[wrong])


def _changes(
    jury: Jury, proposer: Proposer, start: int, rows: Int64[np.ndarray, " some"]
) -> tuple[Int64[np.ndarray, " n"], Levels]:
    """Return some changes of each row, none of them twice, rows together."""
    law, first = proposer.even_law(start + rows), np.zeros(len(rows), dtype=np.int64)
    levels = proposer.propose_from(law, start + rows, first, DRAWS).reshape(-1, len(jury.layout.axes))
    row = np.repeat(rows, DRAWS)
    changed = changes_of(jury.question.levels, row, levels) > 0
    each = np.unique(np.column_stack([row, levels])[changed], axis=0)
    return each[:, 0], each[:, 1:].astype(np.int16)


def _is_wrong(jury: Jury, row: Int64[np.ndarray, " n"], levels: Levels, second: Mask) -> Mask:
    """Return which proposals the model judges otherwise than its twin."""
    told, _ = jury.ask(row, levels, second)
    return jury.judge(row, levels, second).reached != told
