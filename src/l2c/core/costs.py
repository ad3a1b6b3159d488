"""What a change costs: a price for touching a feature, for every unit or step, and for single levels."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.compiled import Compiled, compiles
from l2c.core.feature import Feature
from l2c.core.layout import Layout
from l2c.core.types import Cells, Levels


def price(
    feature: Feature, was: Float64[np.ndarray, ...], now: Float64[np.ndarray, ...], changed: np.ndarray
) -> Float64[np.ndarray, ...]:
    """Return what it costs to bring a feature from one cell to another.

    Distances are in the feature's unit; for levels, in steps. Where the person's value is missing there is no
    distance, and only the change itself costs.
    """
    distance = np.nan_to_num(now - was)
    cost = feature.cost + feature.cost_up * np.maximum(distance, 0) + feature.cost_down * np.maximum(-distance, 0)
    if feature.level_costs:
        cost = cost + np.array(feature.level_costs)[np.nan_to_num(now).astype(np.int64)]
    return np.where(changed, cost, 0.0)


def total_costs(layout: Layout, was: Cells, now: Cells, own: Levels, levels: Levels) -> Float64[np.ndarray, ...]:
    """Return what each change costs in all; axes before the features broadcast."""
    if not layout.priced:
        return (levels != own).sum(axis=-1).astype(np.float64)
    total = np.zeros(levels.shape[:-1])
    for i, feature in enumerate(layout.schema.features):
        total = total + price(feature, was[..., i], now[..., i], levels[..., i] != own[..., i])
    return total


def costs_of(
    layout: Layout, cells: Cells, own: Levels, row: Int64[np.ndarray, " n"], now: Cells, levels: Levels
) -> Float64[np.ndarray, " n"]:
    """Return what each counterfactual costs, given the cells and levels of all rows and the row of each."""
    if not layout.priced:
        return changes_of(own, row, levels)
    return total_costs(layout, cells[row], now, own[row], levels)


def changes_of(own: Levels, row: Int64[np.ndarray, " n"], levels: Levels) -> Float64[np.ndarray, " n"]:
    """Return in how many features each counterfactual differs from its row."""
    return _changes(own, row, levels) if compiles() else (levels != own[row]).sum(axis=1).astype(np.float64)


@Compiled
def _changes(own: Levels, row: Int64[np.ndarray, " n"], levels: Levels) -> Float64[np.ndarray, " n"]:
    total = np.empty(len(row), np.float64)
    for n in range(len(row)):
        # As short as levels are, and at a place that cannot be negative: so many more are compared at once.
        differing, r = np.int16(0), np.uint64(row[n])
        for i in range(levels.shape[1]):
            differing = np.int16(differing + np.int16(own[r, i] != levels[n, i]))
        total[n] = differing
    return total


def move_costs(
    layout: Layout, cells: Cells, own: Levels, values: Float64[np.ndarray, "rows width"]
) -> Float64[np.ndarray, "rows width"]:
    """Return, for each row, what it costs to take on each level of the flat axis."""
    costs = np.empty(values.shape)
    for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
        start = int(layout.offsets[i])
        places = slice(start, start + axis.size)
        changed = np.arange(axis.size)[None, :] != own[:, i, None]
        costs[:, places] = price(feature, cells[:, i, None], values[:, places], changed)
    return costs
