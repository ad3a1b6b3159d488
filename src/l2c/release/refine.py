"""A law of its own for a row that is hard to answer, by the cross-entropy method (Rubinstein 1999).

Where hardly any proposal of a row is valid, it begins again from an even law, and after each round moves to the
proposals that came nearest to the desired class. So coverage does not depend on luck, nor on what was learned for
other rows.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.layout import Layout
from l2c.core.types import Levels, Mask

HARD_AFTER = 400
"""Draws before a row can be called hard."""

HARD_BELOW = 0.02
"""The share of valid draws below which it is."""

HARD_ROUND = 1000
"""The most draws of a hard row before its law is refined again."""

TIGHT_AFTER, TIGHT_BELOW, TIGHT_ROUND = 50, 0.3, 100
"""The same for a row that may change only so many features: what was learned knows nothing of that. Chosen on German's
dev rows, for the fewest questions to the model."""

ELITE_SHARE = 0.1
EVEN_SHARE = 0.3
"""How much of the even law stays in, so that nothing that is allowed becomes impossible."""


def is_hard(valid: Int64[np.ndarray, " rows"], drawn: Int64[np.ndarray, " rows"], tight: Mask) -> Mask:
    """Return which rows have hardly any success so far.

    >>> is_hard(np.array([3, 30, 0, 0]), np.array([400, 400, 399, 60]), np.array([False, False, False, True]))
    array([ True, False, False,  True])
    """
    after, below = np.where(tight, TIGHT_AFTER, HARD_AFTER), np.where(tight, TIGHT_BELOW, HARD_BELOW)
    return np.asarray((drawn >= after) & (valid < below * drawn))


def refined(
    layout: Layout,
    even: Float64[np.ndarray, "rows width"],
    row: Int64[np.ndarray, " n"],
    levels: Levels,
    chance: Float64[np.ndarray, " n"],
) -> Float64[np.ndarray, "rows width"]:
    """Return each row's next law: how often its best proposals take each level, mixed with the even law.

    Parameters
    ----------
    row
        The row of each proposal, as an index into `even`.
    levels, chance
        The proposals, and the model's probability of the desired class for each.
    """
    order = np.lexsort((-chance, row))
    counts = np.bincount(row, minlength=len(even))
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    elite = order[place < np.ceil(ELITE_SHARE * counts)[row[order]]]
    seen = np.zeros_like(even)
    np.add.at(seen, (row[elite, None], levels[elite] + layout.offsets), 1.0)
    members = np.bincount(row[elite], minlength=len(even))[:, None]
    best = np.where(members > 0, seen / np.maximum(members, 1), even)
    return EVEN_SHARE * even + (1 - EVEN_SHARE) * best
