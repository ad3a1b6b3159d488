"""A certain answer for rows that the search left open, where the model can be seen into."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float64

from l2c.core.conditions import Condition
from l2c.core.costs import move_costs
from l2c.core.sight import View, agrees
from l2c.core.types import Levels, Mask
from l2c.engine.decode import decode_levels
from l2c.release.prove import Case, Demand, Verdict, prove
from l2c.release.search import Search

SETTLED = 200
"""The most rows of a batch that are settled; each takes a solver some milliseconds or seconds."""

EFFORT = 2.0
"""Work on one row, in the solver's deterministic seconds."""


Sight = Callable[[], View | None]
"""Looks into the model, when it is needed; None if there is nothing to be seen."""


def settle(search: Search, sight: Sight) -> None:
    """Decide, for the rows of a search that found none, whether there is one; a witness is judged like any proposal.

    Of a row on which the view and the model differ, nothing is decided.
    """
    rows = open_rows(search)[:SETTLED]
    view = sight() if len(rows) else None
    if view is None:
        return
    cells = search.question.cells[rows]
    for row in rows[agrees(view, cells, search.blackbox.proba(cells))]:
        if search.budget.expired():
            return
        verdicts = [
            prove(view, _case(search, row, values), int(search.question.desired[row]), effort=EFFORT)
            for values in _decodings(search, row)
        ]
        witnesses = [verdict.witness for verdict in verdicts if verdict.witness is not None]
        # Both choices of values may have the same one, which is tried with either.
        for witness in np.unique(witnesses, axis=0) if witnesses else ():
            search.offer(row, witness)
        if _impossible(verdicts):
            search.proven[row] = True


def open_rows(search: Search) -> np.ndarray:
    """Return the rows that found none, though the model's decision alone counts and not everything was tried."""
    if search.question.goal.threshold is not None:
        return np.empty(0, dtype=np.int64)  # a view of the model knows only the likeliest class
    without = search.valid == 0
    if not without.any():
        return np.empty(0, dtype=np.int64)
    decided = np.isnan(search.question.goal.low) & (search.question.goal.accepted.sum(axis=1) == 1)
    return np.flatnonzero(decided & without & ~search.exhausted & ~search.question.already)


def _impossible(verdicts: list[Verdict]) -> bool:
    return all(verdict.possible is False for verdict in verdicts)


def _decodings(search: Search, row: int) -> Iterator[Float64[np.ndarray, " width"]]:
    """Yield the values that proposals of a row are tried with."""
    room = search.question.room
    yield room.values[row]
    if search.manner.decode_again and not np.array_equal(room.values[row], room.others[row], equal_nan=True):
        yield room.others[row]


def _case(search: Search, row: int, values: Float64[np.ndarray, " width"]) -> Case:
    """Return what the solver needs to know of a row."""
    question, layout = search.question, search.layout
    names, at = layout.schema.names, np.array([row])
    cells, own = question.cells[at], question.levels[at]

    def demand(condition: Condition) -> Demand:
        def holds(levels: Levels) -> Mask:
            now = decode_levels(layout, levels, values[None, :], np.zeros(len(levels), dtype=np.int64))
            return condition.holds(now, np.repeat(cells, len(levels), axis=0))

        return Demand(holds, tuple(sorted(condition.released)))

    return Case(
        own=own[0],
        values=values,
        open=question.room.open[row],
        cost=move_costs(layout, cells, own, values[None, :])[0],
        rules=tuple((names.index(rule.cause), names.index(rule.effect), rule.how) for rule in layout.schema.rules),
        demands=tuple(demand(condition) for condition, rows in question.room.conditions if rows[row]),
        max_changes=int(question.room.changes[row]),
        max_cost=float(question.room.spend[row]),
    )
