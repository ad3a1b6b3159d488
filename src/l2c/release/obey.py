"""Whether a proposal keeps to its row's room, to the rules between features and to the caller's conditions.

It is checked on every proposal, whoever made it, before the model is asked: a constraint is a post-condition.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int64

from l2c.core.costs import total_costs
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.room import Room
from l2c.core.rules import meets_rule
from l2c.core.types import Cells, Levels, Mask


def fits(layout: Layout, room: Room, row: Int64[np.ndarray, " n"], own: Levels, levels: Levels) -> Mask:
    """Return which proposals lie in their row's room: every level open, and not too many changed.

    Parameters
    ----------
    row
        The row of the room that each proposal is for.
    own, levels
        Levels of the person and of the proposal.
    """
    good = np.asarray(room.open[row[:, None], levels + layout.offsets].all(axis=1))
    if (room.changes < levels.shape[1]).any():
        good &= (levels != own).sum(axis=1) <= room.changes[row]
    return good


def obeys(layout: Layout, question: Question, row: Int64[np.ndarray, " n"], levels: Levels, values: Cells) -> Mask:
    """Return which proposals keep what ties features together: rules, the total cost, the caller's conditions.

    Parameters
    ----------
    row
        The row of the question that each proposal is for.
    levels, values
        The proposals by level and by value.
    """
    room, good = question.room, obeys_rules(layout, question.levels, row, levels)
    if room.prices is not None:
        costs = total_costs(layout, question.cells[row], values, question.levels[row], levels)
        good &= costs <= room.spend[row]
    for condition, rows in room.conditions:
        asked = np.flatnonzero(good & rows[row])
        good[asked] = condition.holds(values[asked], question.cells[row[asked]])
    return good


def obeys_rules(layout: Layout, own: Levels, row: Int64[np.ndarray, " n"], levels: Levels) -> Mask:
    """Return which proposals keep the rules between features, each beside the levels of its row."""
    good = np.ones(len(levels), dtype=bool)
    if layout.schema.rules:
        before = own[row]
        for rule in layout.schema.rules:
            good &= meets_rule(rule, layout.schema.names, before, levels)
    return good
