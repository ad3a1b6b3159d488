"""Slow, obvious answers that several tests compare with."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from l2c.core.layout import Decode, Layout


def slow_obeys(layout: Layout, before: Sequence[int], after: Sequence[int], values: Sequence[float]) -> bool:
    """Return whether one proposal keeps to the schema, one cell at a time."""
    for feature, axis, was, now, value in zip(layout.schema.features, layout.axes, before, after, values, strict=True):
        if was == now:
            continue
        if feature.moves == "never" or now == axis.known:
            return False
        if feature.moves in ("rises", "falls"):
            if was == axis.known:
                return False
            if (now > was) != (feature.moves == "rises"):
                return False
        if feature.low is not None and value < feature.low:
            return False
        if feature.high is not None and value > feature.high:
            return False
        if feature.numeric and bisect_left(axis.cuts, value) != now:  # the range has no value of this bin
            return False
    for rule in layout.schema.rules:
        cause, effect = layout.schema.index(rule.cause), layout.schema.index(rule.effect)
        cause_rises, effect_rises = after[cause] > before[cause], after[effect] > before[effect]
        if rule.how == "must_rise" and cause_rises and not effect_rises:
            return False
        if rule.how == "must_not_fall" and cause_rises and after[effect] < before[effect]:
            return False
        if rule.how == "only_if" and effect_rises and not cause_rises:
            return False
    return True


def everything_allowed(layout: Layout, cells: Sequence[float], decode: Decode) -> Iterator[tuple[int, ...]]:
    """Yield the levels of every proposal that the schema allows one person, and that changes something."""
    before = tuple(layout.levels(np.array([cells]))[0].tolist())
    for after in product(*(range(axis.size) for axis in layout.axes)):
        if after != before and slow_obeys(layout, before, after, slow_decode(layout, before, after, cells, decode)):
            yield after


def slow_decode(
    layout: Layout, before: Sequence[int], after: Sequence[int], cells: Sequence[float], decode: Decode
) -> list[float]:
    """Return the values of one proposal: what stands for each new level, brought inside the declared range."""
    values = list(cells)
    for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
        if before[i] == after[i]:
            continue
        value = [*getattr(axis, decode), math.nan][after[i]]
        low, high = (-math.inf if feature.low is None else feature.low, feature.high)
        if feature.numeric and not math.isnan(value):
            value = min(max(value, low), math.inf if high is None else high)
        values[i] = value
    return values
