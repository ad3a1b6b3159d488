"""What a change costs: a price for touching a feature, for every unit or step, and for single levels."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.compiled import Compiled, compiles
from l2c.core.feature import Feature
from l2c.core.layout import Layout
from l2c.core.types import Cells, Levels


def has_prices(layout: Layout) -> bool:
    """Return whether some change costs more than another; otherwise a cost is the number of changes."""
    return any(
        feature.cost != 1 or feature.cost_up or feature.cost_down or feature.level_costs
        for feature in layout.schema.features
        if feature.moves != "never"
    )


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
    if not has_prices(layout):
        return changes(own, levels).astype(np.float64)
    total = np.zeros(levels.shape[:-1])
    for i, feature in enumerate(layout.schema.features):
        total = total + price(feature, was[..., i], now[..., i], levels[..., i] != own[..., i])
    return total


def changes(own: Levels, levels: Levels) -> Int64[np.ndarray, ...]:
    """Return how many features differ; axes before the features broadcast."""
    if compiles() and own.shape == levels.shape and own.ndim == 2:
        return _changes(own, levels)
    return (levels != own).sum(axis=-1)


@Compiled
def _changes(own: Levels, levels: Levels) -> Int64[np.ndarray, " n"]:
    total = np.zeros(len(own), np.int64)
    for n in range(len(own)):
        for i in range(own.shape[1]):
            total[n] += own[n, i] != levels[n, i]
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
