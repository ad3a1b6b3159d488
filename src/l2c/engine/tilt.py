"""Tilting a law: as little as it takes for the share of valid proposals that is wanted.

If what each level adds to a model's lead is known, then of all laws with a given mean lead the one nearest to a law in
which the features are independent (least KL divergence) is that law times exp(θ · gain): the features stay independent.
How far to go is worked out for each row by itself: θ is the least with which the sum of the gains, taken for normal, is
above zero in the share of proposals that is wanted. Rows that have it anyway are left as they are.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from jaxtyping import Float64

from l2c.core.layout import Layout
from l2c.core.types import Levels
from l2c.engine.sample import mixed_law

STEPS = 4
"""Newton steps to θ: the share that is foreseen is then within a hundredth of the one wanted."""

FARTHEST = 6.0
"""The largest θ, in units of one over the standard deviation of the lead: what cannot be reached must not narrow a law
to a single proposal."""


def tilted(
    layout: Layout,
    local: Float64[np.ndarray, "rows width"],
    selection: Float64[np.ndarray, "rows features"],
    levels: Levels,
    gains: Float64[np.ndarray, "rows width"],
    start: Float64[np.ndarray, " rows"],
    *,
    noise: float,
    share: float,
) -> tuple[Float64[np.ndarray, "rows width"], Float64[np.ndarray, "rows features"]]:
    """Return p and π whose mixture is the tilted mixture of those given.

    Parameters
    ----------
    local, selection, levels
        p, π and each row's own levels.
    gains, start
        What each level adds to the lead, and the lead without them: above zero a proposal is valid.
    noise
        The variance of what the sum leaves open.
    share
        The share of proposals that should be valid.
    """
    law = mixed_law(layout, local, selection, levels)
    relative, best = _relative(layout, law, gains)
    theta = strength(layout, law, relative, best + start, noise=noise, share=share)
    factor = np.exp(theta[:, None] * relative)
    drawn = local * factor
    total = np.add.reduceat(drawn, layout.offsets, axis=1)
    kept = (1 - selection) * np.take_along_axis(factor, levels + layout.offsets, axis=1)
    # Where the feature's own level weighs next to nothing, and no other may be drawn, it stays as it is.
    mass = kept + selection * total
    turned = np.where(mass > 0, selection * total / np.where(mass > 0, mass, 1.0), selection)
    spread = np.repeat(total, layout.sizes, axis=1)
    return np.where(spread > 0, drawn / np.where(spread > 0, spread, 1.0), local), turned


def strength(
    layout: Layout,
    law: Float64[np.ndarray, "rows width"],
    relative: Float64[np.ndarray, "rows width"],
    best: Float64[np.ndarray, " rows"],
    *,
    noise: float,
    share: float,
) -> Float64[np.ndarray, " rows"]:
    """Return θ of each row.

    Parameters
    ----------
    relative, best
        What each level adds to the lead, less than the best level of its feature does, and the lead with all the best.
    """
    wanted = NormalDist().inv_cdf(share)
    theta, farthest = np.zeros(len(law)), np.full(len(law), np.inf)
    for step in range(STEPS):
        mean, variance = moments(layout, law, relative, theta)
        if not step:
            farthest = FARTHEST / np.sqrt(np.where(variance > 0, variance, np.inf))
        short = wanted * np.sqrt(variance + noise) - (best + mean)
        # The mean grows with θ as fast as the variance is large.
        more = np.divide(short, variance, out=np.where(short > 0, farthest, -farthest), where=variance > 0)
        theta = np.clip(theta + more, 0.0, farthest)
    return theta


def moments(
    layout: Layout,
    law: Float64[np.ndarray, "rows width"],
    gains: Float64[np.ndarray, "rows width"],
    theta: Float64[np.ndarray, " rows"],
) -> tuple[Float64[np.ndarray, " rows"], Float64[np.ndarray, " rows"]]:
    """Return the mean and the variance of the sum of the gains under the tilted law."""
    mass = law * np.exp(theta[:, None] * gains)
    total = np.add.reduceat(mass, layout.offsets, axis=1)
    mean = np.add.reduceat(mass * gains, layout.offsets, axis=1) / total
    square = np.add.reduceat(mass * gains * gains, layout.offsets, axis=1) / total
    # Features are added one by one: a row's sum is then the same in any batch.
    return np.cumsum(mean, axis=1)[:, -1], np.cumsum(np.maximum(square - mean * mean, 0.0), axis=1)[:, -1]


def _relative(
    layout: Layout, law: Float64[np.ndarray, "rows width"], gains: Float64[np.ndarray, "rows width"]
) -> tuple[Float64[np.ndarray, "rows width"], Float64[np.ndarray, " rows"]]:
    """Return the gains less the best one of each feature, and the sum of these; what cannot be drawn gains nothing."""
    best = np.maximum.reduceat(np.where(law > 0, gains, -np.inf), layout.offsets, axis=1)
    relative = np.where(law > 0, gains - np.repeat(best, layout.sizes, axis=1), 0.0)
    return relative, np.cumsum(best, axis=1)[:, -1]


def eased(share: float, by: float) -> float:
    """Return a share whose odds are so many times as large.

    >>> eased(0.75, 1.0), eased(0.75, 1 / 3)
    (0.75, 0.5)
    """
    return share * by / (1 - share + share * by)
