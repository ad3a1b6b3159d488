"""Coarser levels: neighbours merged into one, so that fewer people are told apart."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int16

from l2c.core.layout import Axis, Layout, interval

Merged = Int16[np.ndarray, " width"]
"""For each place of the flat axis, the level that it is told as; levels that are told as one share it."""

UNORDERED_FROM = 2
"""The step at which levels without an order are merged, all at once: they have no neighbours."""


def ladder(layout: Layout) -> tuple[Merged, ...]:
    """Return ever coarser levels of every feature; the first step are the levels themselves, at the last all are one.

    Levels in an order are merged in pairs, then in fours, and so on. Levels without an order become one at the second
    step. "Missing" stays apart as long as anything is told apart.
    """
    longest = max((axis.known for axis in layout.axes), default=1)
    steps = max(int(np.ceil(np.log2(max(longest, 1)))), UNORDERED_FROM)
    ordered = [feature.ordered for feature in layout.schema.features]
    return tuple(
        np.concatenate([_merged(axis, one, step) for axis, one in zip(layout.axes, ordered, strict=True)])
        for step in range(steps + 1)
    )


def _merged(axis: Axis, ordered: bool, step: int) -> Int16[np.ndarray, " levels"]:
    fine = np.arange(axis.size)
    if not ordered:
        return (fine if step < UNORDERED_FROM else np.zeros(axis.size)).astype(np.int16)
    if 2**step >= axis.known and step:
        return np.zeros(axis.size, dtype=np.int16)
    return np.where(fine < axis.known, fine // 2**step, axis.known).astype(np.int16)


def texts(layout: Layout, feature: int, merged: Merged) -> list[str]:
    """Return, for each level of a feature, the words for what it is told as.

    Several levels are an interval, "a to b", or "any" if they are all there are.
    """
    start, size = int(layout.offsets[feature]), int(layout.sizes[feature])
    told = merged[start : start + size]
    return [_words(layout, feature, np.flatnonzero(told == one)) for one in told]


def _words(layout: Layout, feature: int, levels: np.ndarray) -> str:
    first, last = int(levels[0]), int(levels[-1])
    axis = layout.axes[feature]
    if len(levels) == 1:
        return layout.text(feature, first)
    if len(levels) == axis.size:
        return "any"
    if layout.schema.features[feature].numeric:
        return interval(axis.bounds(first)[0], axis.bounds(last)[1])
    return f"{layout.text(feature, first)} to {layout.text(feature, last)}"
