"""Slow, obvious answers that several tests compare with."""

from __future__ import annotations

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
    for rule in layout.schema.rules:
        cause, effect = layout.schema.index(rule.cause), layout.schema.index(rule.effect)
        if after[cause] > before[cause] and not after[effect] > before[effect]:
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
    """Return the values of one proposal."""
    stands = [[*getattr(axis, decode), float("nan")] for axis in layout.axes]
    return [cells[i] if was == now else stands[i][now] for i, (was, now) in enumerate(zip(before, after, strict=True))]
