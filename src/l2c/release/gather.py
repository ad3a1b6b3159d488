"""A release over all input rows, from one over the rows that could be read, or from two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from l2c.core.explanation import LINES, Measured, Outcome, Released
from l2c.core.types import Mask


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


def with_answers_of(released: Released, other: Released, rows: Mask) -> Released:
    """Return the release with the answers that another one over the same rows gives to some of them."""
    mine, theirs = np.flatnonzero(~rows[released.row]), np.flatnonzero(rows[other.row])
    order = np.argsort(np.concatenate([released.row[mine], other.row[theirs]]), kind="stable")

    def long(one: np.ndarray, another: np.ndarray) -> np.ndarray:
        return np.concatenate([one[mine], another[theirs]])[order]

    def each(one: np.ndarray, another: np.ndarray) -> np.ndarray:
        return np.where(rows.reshape(-1, *[1] * (one.ndim - 1)), another, one)

    goal, wanted, both = released.goal, other.goal, zip(released.outcomes, other.outcomes, strict=True)
    accepted, low, high = (each(getattr(goal, name), getattr(wanted, name)) for name in ("accepted", "low", "high"))
    told: dict[str, Any] = {name: long(getattr(released, name), getattr(other, name)) for name in ("rank", *LINES)}
    measured, share_valid, coarse = released.measured, released.share_valid, released.coarse
    if measured is not None and other.measured is not None:
        measured = Measured(measured.before, long(measured.after, other.measured.after))
    return replace(
        released,
        current=each(released.current, other.current),
        desired=each(released.desired, other.desired),
        goal=replace(goal, accepted=accepted, low=low, high=high),
        outcomes=tuple(pair[one] for pair, one in zip(both, rows.astype(int).tolist(), strict=True)),
        measured=measured,
        share_valid=None if share_valid is None or other.share_valid is None else long(share_valid, other.share_valid),
        coarse=None if coarse is None or other.coarse is None else each(coarse, other.coarse),
        **told,
    )
