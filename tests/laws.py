"""Rows with known dependences, for the tests of the reference law, and relaxed draws that follow rules, written out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from l2c.core.feature import Feature
from l2c.core.layout import Layout, categorical_axis
from l2c.core.schema import Schema
from l2c.core.types import Levels
from l2c.engine.reference import ReferenceLaw

SIZES = (3, 2, 4, 2)


def layout_of(sizes: tuple[int, ...]) -> Layout:
    """Return a layout of ordinal features with so many levels."""
    features = tuple(
        Feature(name=f"f{i}", kind="ordinal", levels=tuple(f"{i}.{j}" for j in range(size)))
        for i, size in enumerate(sizes)
    )
    return Layout(Schema(features), tuple(categorical_axis(feature) for feature in features))


def dependent_rows() -> Levels:
    """Return rows of four features in which the second and the third follow the first, the last none."""
    rng = np.random.default_rng(0)
    f0 = rng.integers(0, 3, 400)
    f1 = np.where(rng.random(400) < 0.8, (f0 > 0).astype(int), rng.integers(0, 2, 400))
    f2 = np.where(rng.random(400) < 0.7, f0 + 1, rng.integers(0, 4, 400))
    return np.stack([f0, f1, f2, rng.integers(0, 2, 400)], axis=1).astype(np.int16)


def log_likelihood(law: ReferenceLaw, levels: Levels) -> np.ndarray:
    """Return the logarithm of the probability of each row under a law: its levels' given their parents'."""
    return np.array([
        sum(
            math.log(law.tables[i][row[parent] if parent >= 0 else 0, row[i]]) for i, parent in enumerate(law.parent)
        )
        for row in levels
    ])  # fmt: skip


def slow_bound(
    layout: Layout, own: Sequence[int], open_to: Sequence[bool], drawn: Sequence[float], log_p: Sequence[float],
    noise: Sequence[float], tau: float,
) -> list[float]:  # fmt: skip
    """Return one row's relaxed draw after its rules, one effect after the other, every effect after its causes.

    An effect whose heaviest place its causes forbid is drawn again among those that they leave open, with the same
    noise; if they leave none, it stays.
    """
    names, rules, row = layout.schema.names, list(layout.schema.rules), list(drawn)
    places = [range(start, start + size) for start, size in zip(layout.offsets, layout.sizes, strict=True)]
    while rules:
        waiting = {rule.effect for rule in rules}
        effect = next(name for name in waiting if not any(r.effect == name and r.cause in waiting for r in rules))
        now = [max(range(len(part)), key=lambda j, part=part: row[part[j]]) for part in places]  # type: ignore[misc]
        i = names.index(effect)
        fits = [bool(open_to[place]) for place in places[i]]
        for rule in (rule for rule in rules if rule.effect == effect):
            cause = names.index(rule.cause)
            risen = now[cause] > own[cause]
            for j in range(len(fits)):
                if rule.how == "must_rise" and risen and j <= own[i]:
                    fits[j] = False
                if rule.how == "must_not_fall" and risen and j < own[i]:
                    fits[j] = False
                if rule.how == "only_if" and not risen and j > own[i]:
                    fits[j] = False
        if any(fits) and not fits[now[i]]:
            mass = [fit * math.exp((log_p[k] + noise[k]) / tau) for fit, k in zip(fits, places[i], strict=True)]
            for place, each in zip(places[i], mass, strict=True):
                row[place] = each / sum(mass)
        rules = [rule for rule in rules if rule.effect != effect]
    return row
