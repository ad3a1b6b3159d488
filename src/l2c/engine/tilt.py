"""Tilting a law: as little as it takes for the share of valid proposals that is wanted.

If what each level adds to a model's lead is known, then of all laws with a given mean lead the one nearest to a law in
which the features are independent (least KL divergence) is that law times exp(θ · gain): the features stay independent.
How far to go is worked out for each row by itself: θ is the least with which the sum of the gains, taken for normal, is
above zero in the share of proposals that is wanted. Rows that have it anyway are left as they are.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.compiled import Compiled, compiles
from l2c.core.layout import Layout
from l2c.core.types import Levels
from l2c.engine.sample import mixed_law

STEPS = 3
"""Newton steps to θ: the share that is foreseen is then within a hundredth of the one wanted."""

Parts = tuple[Float64[np.ndarray, "rows width"], Float64[np.ndarray, "rows features"]]
"""p, what each feature should be if it changes, and π, how likely it is to be changed."""

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
) -> Parts:
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
    relative, best = (below_best if compiles() else below_best_at_once)(law, gains, layout.offsets, layout.sizes)
    theta = strength(layout, law, relative, best + start, noise=noise, share=share)
    factor = np.exp(theta[:, None] * relative)
    multiply = multiplied if compiles() else multiplied_at_once
    return multiply(local, selection, levels, factor, layout.offsets, layout.sizes)


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
    factor = np.exp(theta[:, None] * gains) if theta.any() else np.ones(gains.shape)
    return (sums_moments if compiles() else sums_moments_at_once)(law, gains, factor, layout.offsets, layout.sizes)


Moments = tuple[Float64[np.ndarray, " rows"], Float64[np.ndarray, " rows"]]


@Compiled
def sums_moments(
    law: Float64[np.ndarray, "rows width"],
    gains: Float64[np.ndarray, "rows width"],
    factor: Float64[np.ndarray, "rows width"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> Moments:
    """Return mean and variance of the sum of the gains, where each law is multiplied by a factor and made whole."""
    mean, variance = np.zeros(len(law)), np.zeros(len(law))
    for row in range(len(law)):
        for i in range(len(offsets)):
            total, first, second = 0.0, 0.0, 0.0
            for place in range(offsets[i], offsets[i] + sizes[i]):
                mass = law[row, place] * factor[row, place]
                gain = mass * gains[row, place]
                total += mass
                first += gain
                second += gain * gains[row, place]
            middle = first / total
            mean[row] += middle
            variance[row] += max(second / total - middle * middle, 0.0)
    return mean, variance


def sums_moments_at_once(
    law: Float64[np.ndarray, "rows width"],
    gains: Float64[np.ndarray, "rows width"],
    factor: Float64[np.ndarray, "rows width"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> Moments:
    """Return what `sums_moments` returns, all rows at once."""
    mass = law * factor
    gain = mass * gains
    total, first, second = (segment_sums_at_once(part, offsets, sizes) for part in (mass, gain, gain * gains))
    middle = first / total
    # Sums that grow one by one are the same in any batch.
    mean, variance = (
        np.cumsum(part, axis=1)[:, -1] for part in (middle, np.maximum(second / total - middle * middle, 0.0))
    )
    return mean, variance


def segment_sums_at_once(
    flat: Float64[np.ndarray, "rows width"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> Float64[np.ndarray, "rows features"]:
    """Return the sum over each feature's places, added one by one."""
    total = np.zeros((len(flat), len(offsets)))
    for level in range(int(sizes.max())):
        has = np.flatnonzero(sizes > level)
        total[:, has] += flat[:, offsets[has] + level]
    return total


@Compiled
def below_best(
    law: Float64[np.ndarray, "rows width"],
    gains: Float64[np.ndarray, "rows width"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> tuple[Float64[np.ndarray, "rows width"], Float64[np.ndarray, " rows"]]:
    """Return the gains less the best one of each feature, and the sum of these; what cannot be drawn gains nothing."""
    relative, total = np.zeros(law.shape), np.zeros(len(law))
    for row in range(len(law)):
        for i in range(len(offsets)):
            best = -np.inf
            for place in range(offsets[i], offsets[i] + sizes[i]):
                if law[row, place] > 0:
                    best = max(best, gains[row, place])
            for place in range(offsets[i], offsets[i] + sizes[i]):
                if law[row, place] > 0:
                    relative[row, place] = gains[row, place] - best
            total[row] += best
    return relative, total


def below_best_at_once(
    law: Float64[np.ndarray, "rows width"],
    gains: Float64[np.ndarray, "rows width"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> tuple[Float64[np.ndarray, "rows width"], Float64[np.ndarray, " rows"]]:
    """Return what `below_best` returns, all rows at once."""
    best = np.maximum.reduceat(np.where(law > 0, gains, -np.inf), offsets, axis=1)
    relative = np.where(law > 0, gains - np.repeat(best, sizes, axis=1), 0.0)
    return relative, np.cumsum(best, axis=1)[:, -1]


@Compiled
def multiplied(
    local: Float64[np.ndarray, "rows width"],
    selection: Float64[np.ndarray, "rows features"],
    levels: Levels,
    factor: Float64[np.ndarray, "rows width"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> Parts:
    """Return p and π whose mixture is that of those given times a factor, made whole."""
    whole, turned = np.empty(local.shape), np.empty(selection.shape)
    for row in range(len(local)):
        for i in range(len(offsets)):
            first, last, share = offsets[i], offsets[i] + sizes[i], selection[row, i]
            total = 0.0
            for place in range(first, last):
                whole[row, place] = local[row, place] * factor[row, place]
                total += whole[row, place]
            kept = (1 - share) * factor[row, first + levels[row, i]]
            mass = kept + share * total
            turned[row, i] = share * total / mass if mass > 0 else share
            for place in range(first, last):
                # Where exponentials have left nothing of what may be drawn, the feature stays as it is.
                whole[row, place] = whole[row, place] / total if total > 0 else local[row, place]
    return whole, turned


def multiplied_at_once(
    local: Float64[np.ndarray, "rows width"],
    selection: Float64[np.ndarray, "rows features"],
    levels: Levels,
    factor: Float64[np.ndarray, "rows width"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> Parts:
    """Return what `multiplied` returns, all rows at once."""
    drawn = local * factor
    total = segment_sums_at_once(drawn, offsets, sizes)
    kept = (1 - selection) * np.take_along_axis(factor, levels + offsets, axis=1)
    mass, some = kept + selection * total, total > 0
    turned = np.divide(selection * total, mass, out=selection.copy(), where=mass > 0)
    spread, known = (np.repeat(part, sizes, axis=1) for part in (total, some))
    return np.divide(drawn, spread, out=local.copy(), where=known), turned


def eased(share: float, by: float) -> float:
    """Return a share whose odds are so many times as large.

    >>> eased(0.75, 1.0), eased(0.75, 1 / 3)
    (0.75, 0.5)
    """
    return share * by / (1 - share + share * by)
