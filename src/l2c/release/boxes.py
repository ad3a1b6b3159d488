"""How much of an interval answer holds: points all over the box that its intervals span, judged by the model.

The points are the same in every box but for where it lies, so that the same box always gets the same share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64

from l2c.core.blackbox import BlackBox
from l2c.core.conditions import Condition
from l2c.core.explanation import Released
from l2c.core.goal import judged_by_all
from l2c.core.layout import Axis, Layout
from l2c.core.streams import Streams
from l2c.core.types import Cells, Levels, Mask
from l2c.core.whole_bins import bin_ends

POINTS = 32
"""Points tried in each box: a share is known to about a tenth."""

BLOCK = 1 << 12
"""Boxes handled at once."""


def share_valid(
    released: Released, judges: Sequence[BlackBox], conditions: Sequence[tuple[Condition, Mask]] = ()
) -> Float64[np.ndarray, " found"]:
    """Return, for each counterfactual, the share of its box in which it reaches its goal under all models.

    Parameters
    ----------
    conditions
        What must hold between values, each with the input rows that it is for.
    """
    shares = np.empty(len(released.row))
    for start in range(0, len(shares), BLOCK):
        part = slice(start, start + BLOCK)
        row = np.repeat(released.row[part], POINTS)
        points = points_in_boxes(released.layout, released.levels[part]).reshape(len(row), -1)
        good, *_ = judged_by_all(released.goal, [judge.proba(points) for judge in judges], row)
        for condition, rows in conditions:
            asked = rows[row]
            good[asked] &= condition.holds(points[asked], released.factual[row[asked]])
        shares[part] = good.reshape(-1, POINTS).mean(axis=1)
    return shares


def points_in_boxes(layout: Layout, levels: Levels) -> Float64[np.ndarray, "boxes points features"]:
    """Return points spread evenly over boxes; what is not a number, or is missing, stays as it is.

    A bin without an end is taken to reach as far beyond what stands for it as that lies from its one end.
    """
    drawn = Streams.for_rows(np.arange(POINTS, dtype=np.float64)[:, None], seed=0)
    even = drawn.draws(np.zeros(POINTS, dtype=np.int64), 1, each=len(layout.axes))[:, 0, :] / 2.0**32
    points: Cells = np.repeat(layout.values(levels, "midpoint")[:, None, :], POINTS, axis=1)
    for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
        if feature.numeric:
            ends = np.array([_reach(axis, level, ends) for level, ends in enumerate(bin_ends(feature, axis))])
            known = levels[:, i] < axis.known
            least, greatest = ends[np.where(known, levels[:, i], 0)].T[:, :, None]
            if feature.integer:
                inside = least + np.floor(even[:, i] * (greatest - least + 1))
            else:
                inside = greatest - even[:, i] * (greatest - least)
            points[known, :, i] = inside[known]
    return points


def _reach(axis: Axis, level: int, ends: tuple[float, float]) -> tuple[float, float]:
    (least, greatest), middle = ends, axis.midpoint[level]
    if np.isinf(least):
        least = middle - (greatest - middle)
    elif np.isinf(greatest):
        greatest = middle + (middle - least)
    return least, greatest
