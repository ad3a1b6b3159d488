"""Rows with known dependences, for the tests of the reference law."""

from __future__ import annotations

import numpy as np

from l2c.core.feature import Feature
from l2c.core.layout import Layout, categorical_axis
from l2c.core.schema import Schema
from l2c.core.types import Levels

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
