"""A release over all input rows, from one over the rows that could be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from l2c.core.explanation import Outcome, Released


def with_unreadable(released: Released, readable: np.ndarray, sentences: Mapping[int, str], rows: int) -> Released:
    """Return the release in which the unreadable rows stand too, each with its outcome.

    Parameters
    ----------
    released
        The release over the readable rows alone.
    readable
        The position of each of those among all rows.
    sentences
        What is wrong with each of the other rows.
    rows
        How many rows there are in all.
    """
    if len(readable) == rows:
        return released
    factual = np.full((rows, released.factual.shape[1]), np.nan)
    factual[readable] = released.factual
    current, desired = np.full(rows, -1), np.full(rows, -1)
    current[readable], desired[readable] = released.current, released.desired
    low, high = np.full(rows, np.nan), np.full(rows, np.nan)
    low[readable], high[readable] = released.goal.low, released.goal.high
    accepted = np.zeros((rows, released.goal.accepted.shape[1]), dtype=bool)
    accepted[readable] = released.goal.accepted
    coarse = None if released.coarse is None else np.zeros(rows, dtype=np.int64)
    if coarse is not None and released.coarse is not None:
        coarse[readable] = released.coarse
    outcomes = [Outcome("bad_input", sentences.get(row, "")) for row in range(rows)]
    for row, outcome in zip(readable.tolist(), released.outcomes, strict=True):
        outcomes[row] = outcome
    return replace(
        released,
        factual=factual,
        current=current,
        desired=desired,
        goal=replace(released.goal, accepted=accepted, low=low, high=high),
        outcomes=tuple(outcomes),
        row=readable[released.row],
        measured=None if released.measured is None else released.measured.among(readable, rows),
        coarse=coarse,
    )
