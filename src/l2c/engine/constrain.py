"""What may be proposed, and how willingly, inside the distributions themselves (equation 5, and the costs)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float64, Int64

from l2c.core.compiled import Compiled, compiles
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.room import Room
from l2c.core.types import Levels

MOST_RELUCTANT = 0.95
"""The largest φ_i: beside changes that are free a dear one becomes rare, never impossible."""


def log_weights(room: Room, *, epsilon: float) -> Float64[np.ndarray, "rows width"]:
    """Return the logarithm of the factor on each level's probability.

    It is 0 for a level that may be proposed, log ε for one that a monotone constraint alone forbids (−∞ where ε
    is 0), and −∞ for what must never be proposed.
    """
    with np.errstate(divide="ignore"):
        penalty = np.log(np.float64(epsilon))
    return np.where(room.open, 0.0, np.where(room.backwards, penalty, -np.inf))


def level_reluctance(layout: Layout, question: Question) -> Float64[np.ndarray, "rows width"]:
    """Return φ_ij, how reluctantly each level is proposed, from what it costs: p_ij is scaled by 1 − φ_ij.

    A level is compared with the cheapest other one of its feature: φ = c / (c + mean), c being what it costs beyond
    that one. So levels that cost the same are all proposed as before; the paper leaves the scale open.
    """
    prices, other = _other_moves(layout, question)
    cheapest = _spread(layout, np.minimum.reduceat(np.where(other, prices, np.inf), layout.offsets, axis=1))
    mean = _spread(layout, _mean_price(layout, prices, other))
    with np.errstate(invalid="ignore"):
        dearer = np.where(other, prices - cheapest, 0.0)
        return np.where(dearer > 0, dearer / (dearer + mean), 0.0)


def feature_reluctance(layout: Layout, question: Question) -> Float64[np.ndarray, "rows features"]:
    """Return φ_i, how reluctantly each feature is touched, from what its moves cost: π_i is scaled by 1 − φ_i.

    The paper asks for Σ φ_i = 1, which makes every change rarer even where all cost the same. Here the least cost is
    taken off first: φ_i = (c_i − min c) / Σ c, so that equal costs change nothing.
    """
    prices, other = _other_moves(layout, question)
    movable = np.add.reduceat(other, layout.offsets, axis=1, dtype=np.int64) > 0
    cost = np.where(movable, _mean_price(layout, prices, other), np.inf)
    least, total = cost.min(axis=1, keepdims=True), np.where(movable, cost, 0.0).sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        share = np.where(movable & (total > 0), (cost - least) / np.where(total > 0, total, 1.0), 0.0)
    return np.minimum(share, MOST_RELUCTANT)


def _other_moves(layout: Layout, question: Question) -> tuple[Float64[np.ndarray, "rows width"], np.ndarray]:
    """Return the prices, and which places are a move to another level that is open."""
    room = question.room
    own = np.arange(layout.width)[None, :] == _spread(layout, question.levels + layout.offsets)
    prices = np.zeros(room.open.shape) if room.prices is None else room.prices
    return prices, room.open & ~own


def _mean_price(layout: Layout, prices: np.ndarray, other: np.ndarray) -> Float64[np.ndarray, "rows features"]:
    total = np.add.reduceat(np.where(other, prices, 0.0), layout.offsets, axis=1)
    return total / np.maximum(np.add.reduceat(other, layout.offsets, axis=1, dtype=np.int64), 1)


def _spread(layout: Layout, per_feature: np.ndarray) -> np.ndarray:
    return np.repeat(per_feature, layout.sizes, axis=1)


def local_distribution(
    layout: Layout, logits: np.ndarray, log_weight: Float64[np.ndarray, "rows width"], levels: Levels
) -> Float64[np.ndarray, "rows width"]:
    """Return p, the softmax of G(z) within each feature under the constraints (equations 1 and 5).

    A feature that has no level left at all keeps the row's own: nothing can be released there, but a law is needed.
    """
    scores = logits.astype(np.float64) + log_weight
    top = np.maximum.reduceat(scores, layout.offsets, axis=1)
    stuck = np.isneginf(top)
    if stuck.any():
        own = np.arange(layout.width)[None, :] == _spread(layout, levels + layout.offsets)
        scores = np.where(_spread(layout, stuck) & own, 0.0, scores)
        top = np.where(stuck, 0.0, top)
    mass = np.exp(scores - _spread(layout, top))
    total = np.add.reduceat(mass, layout.offsets, axis=1)
    return np.asarray(mass / _spread(layout, total))


def even_distribution(
    layout: Layout, room: Room, levels: Levels, *, epsilon: float
) -> Float64[np.ndarray, "rows width"]:
    """Return p where nothing was learned: what `local_distribution` makes of equal scores."""
    if compiles():
        return _evenly(room.open, room.backwards, levels, epsilon, layout.offsets, layout.sizes)
    mass = np.where(room.open, 1.0, np.where(room.backwards, epsilon, 0.0))
    stuck = ~_spread(layout, np.logical_or.reduceat(mass > 0, layout.offsets, axis=1))
    mass[stuck & (np.arange(layout.width) == _spread(layout, levels + layout.offsets))] = 1.0
    total = np.zeros(levels.shape)
    for level in range(int(layout.sizes.max())):
        has = np.flatnonzero(layout.sizes > level)
        total[:, has] += mass[:, layout.offsets[has] + level]
    return np.asarray(mass / _spread(layout, total))


@Compiled
def _evenly(
    open: Bool[np.ndarray, "rows width"],  # noqa: A002
    backwards: Bool[np.ndarray, "rows width"],
    levels: Levels,
    epsilon: float,
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> Float64[np.ndarray, "rows width"]:
    mass = np.empty(open.shape)
    for row in range(len(open)):
        for i in range(len(sizes)):
            first, last, total = offsets[i], offsets[i] + sizes[i], 0.0
            # A place that cannot be negative is looked up without being tested for it.
            for at in range(first, last):
                place = np.uint64(at)
                mass[row, place] = 1.0 if open[row, place] else epsilon if backwards[row, place] else 0.0
                total += mass[row, place]
            if total == 0:
                mass[row, first + levels[row, i]] = total = 1.0
            for at in range(first, last):
                mass[row, np.uint64(at)] /= total
    return mass
