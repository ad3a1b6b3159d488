"""Which levels may be proposed, inside the distribution itself (equation 5)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float64

from l2c.core.feature import Feature
from l2c.core.layout import Axis, Decode, Layout, stand_ins
from l2c.core.types import Levels


def log_weights(layout: Layout, levels: Levels, *, decode: Decode, epsilon: float) -> Float64[np.ndarray, "rows width"]:
    """Return the logarithm of the factor on each level's probability.

    It is 0 for a level that may be proposed, log ε for one that a monotone constraint forbids (−∞ where ε is
    0), and −∞ for what must never be proposed: another level of an immutable feature, a missing value, a value
    outside the declared range. A row's own level is always allowed.
    """
    with np.errstate(divide="ignore"):
        penalty = np.log(np.float64(epsilon))
    columns = []
    for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
        own = levels[:, i, None]
        level = np.arange(axis.size)[None, :]
        open_to = _proposable(feature, axis, decode)[None, :] & (feature.moves != "never")
        backwards = _backwards(feature, axis, own, level)
        weights = np.where(open_to, np.where(backwards, penalty, 0.0), -np.inf)
        columns.append(np.where(level == own, 0.0, weights))
    return np.concatenate(columns, axis=1)


def _proposable(feature: Feature, axis: Axis, decode: Decode) -> Bool[np.ndarray, " size"]:
    """Return which levels stand for a value inside the declared range."""
    open_to = np.arange(axis.size) < axis.known
    if feature.numeric:
        values = np.array(stand_ins(feature, axis, decode))
        low = -np.inf if feature.low is None else feature.low
        high = np.inf if feature.high is None else feature.high
        open_to[: axis.known] &= (values >= low) & (values <= high)
    return open_to


def _backwards(feature: Feature, axis: Axis, own: Levels, level: np.ndarray) -> Bool[np.ndarray, "rows size"]:
    """Return the paper's restricted set C_i: the levels on the wrong side of a row's own."""
    unordered = (own == axis.known) & (level != own)  # beside a missing value nothing is higher or lower
    if feature.moves == "rises":
        return np.asarray((level < own) | unordered)
    if feature.moves == "falls":
        return np.asarray((level > own) | unordered)
    return np.zeros((len(own), axis.size), dtype=bool)


def local_distribution(
    layout: Layout, logits: np.ndarray, log_weight: Float64[np.ndarray, "rows width"]
) -> Float64[np.ndarray, "rows width"]:
    """Return p, the softmax of G(z) within each feature under the constraints (equations 1 and 5)."""
    scores = logits.astype(np.float64) + log_weight
    top = np.maximum.reduceat(scores, layout.offsets, axis=1)
    mass = np.exp(scores - np.repeat(top, layout.sizes, axis=1))
    total = np.add.reduceat(mass, layout.offsets, axis=1)
    return np.asarray(mass / np.repeat(total, layout.sizes, axis=1))
