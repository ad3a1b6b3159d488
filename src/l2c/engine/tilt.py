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

from l2c.core.compiled import Compiled, Inlined, compiles
from l2c.core.exponential import exponentials, raise_all
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
    wanted = NormalDist().inv_cdf(share)
    if compiles():
        given = (local, selection, levels, gains, start, noise, wanted)
        return tilted_in_turn(*given, layout.offsets, layout.sizes)
    law = mixed_law(layout, local, selection, levels)
    relative, best = below_best(layout, law, gains)
    theta = strength(layout, law, relative, best + start, noise=noise, wanted=wanted)
    return multiplied(layout, local, selection, levels, relative, theta)


def below_best(
    layout: Layout, law: Float64[np.ndarray, "rows width"], gains: Float64[np.ndarray, "rows width"]
) -> tuple[Float64[np.ndarray, "rows width"], Float64[np.ndarray, " rows"]]:
    """Return the gains less the best one of each feature, and the sum of these; what cannot be drawn gains nothing."""
    best = np.maximum.reduceat(np.where(law > 0, gains, -np.inf), layout.offsets, axis=1)
    relative = np.where(law > 0, gains - np.repeat(best, layout.sizes, axis=1), 0.0)
    # Sums that grow one by one are the same in any batch.
    return relative, np.cumsum(best, axis=1)[:, -1]


def strength(
    layout: Layout,
    law: Float64[np.ndarray, "rows width"],
    relative: Float64[np.ndarray, "rows width"],
    best: Float64[np.ndarray, " rows"],
    *,
    noise: float,
    wanted: float,
) -> Float64[np.ndarray, " rows"]:
    """Return θ of each row.

    Parameters
    ----------
    relative, best
        What each level adds to the lead, less than the best level of its feature does, and the lead with all the best.
    wanted
        How many standard deviations above zero the mean lead should be.
    """
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
    relative: Float64[np.ndarray, "rows width"],
    theta: Float64[np.ndarray, " rows"],
) -> tuple[Float64[np.ndarray, " rows"], Float64[np.ndarray, " rows"]]:
    """Return the mean and the variance of the sum of the gains under the tilted law; no gain is above 0."""
    mass = law * exponentials(theta[:, None] * relative)
    gain = mass * relative
    total, first, second = (_by_feature(layout, part) for part in (mass, gain, gain * relative))
    middle = first / total
    mean, variance = (
        np.cumsum(part, axis=1)[:, -1] for part in (middle, np.maximum(second / total - middle * middle, 0.0))
    )
    return mean, variance


def multiplied(
    layout: Layout,
    local: Float64[np.ndarray, "rows width"],
    selection: Float64[np.ndarray, "rows features"],
    levels: Levels,
    relative: Float64[np.ndarray, "rows width"],
    theta: Float64[np.ndarray, " rows"],
) -> Parts:
    """Return p and π whose mixture is that of those given, tilted and made whole."""
    factor = exponentials(theta[:, None] * relative)
    drawn = local * factor
    total = _by_feature(layout, drawn)
    kept = (1 - selection) * np.take_along_axis(factor, levels + layout.offsets, axis=1)
    mass, some, tilts = kept + selection * total, total > 0, (theta > 0)[:, None]
    turned = np.divide(selection * total, mass, out=selection.copy(), where=tilts & (mass > 0))
    # Where exponentials have left nothing of what may be drawn, the feature stays as it is.
    spread, known = (np.repeat(part, layout.sizes, axis=1) for part in (total, tilts & some))
    return np.divide(drawn, spread, out=local.copy(), where=known), turned


def _by_feature(layout: Layout, flat: Float64[np.ndarray, "rows width"]) -> Float64[np.ndarray, "rows features"]:
    """Return the sum over each feature's places, added one by one."""
    total = np.zeros((len(flat), len(layout.offsets)))
    for level in range(int(layout.sizes.max())):
        has = np.flatnonzero(layout.sizes > level)
        total[:, has] += flat[:, layout.offsets[has] + level]
    return total


@Compiled
def tilted_in_turn(
    local: Float64[np.ndarray, "rows width"],
    selection: Float64[np.ndarray, "rows features"],
    levels: Levels,
    gains: Float64[np.ndarray, "rows width"],
    start: Float64[np.ndarray, " rows"],
    noise: float,
    wanted: float,
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> Parts:
    """Return the tilted p and π: all of the steps above, one row after the other."""
    whole, turned, width = np.empty(local.shape), np.empty(selection.shape), local.shape[1]
    law, relative, factor = np.empty(width), np.empty(width), np.ones(width)
    for row in range(len(local)):
        best = _mix(law, relative, local, selection, levels, gains, row, offsets, sizes) + start[row]
        theta, farthest = 0.0, np.inf
        for step in range(STEPS):
            if step:
                raise_all(factor, relative, theta)
            else:
                factor[:] = 1.0
            mean, variance = _moments(law, relative, factor, offsets, sizes)
            if not step:
                farthest = FARTHEST / np.sqrt(variance) if variance > 0 else 0.0
            short = wanted * np.sqrt(variance + noise) - (best + mean)
            more = short / variance if variance > 0 else farthest if short > 0 else -farthest
            theta = min(max(theta + more, 0.0), farthest)
        if theta > 0:
            raise_all(factor, relative, theta)
            _multiply(whole, turned, local, selection, levels, factor, row, offsets, sizes)
        else:
            whole[row], turned[row] = local[row], selection[row]
    return whole, turned


@Inlined
def _mix(
    law: Float64[np.ndarray, " width"],
    relative: Float64[np.ndarray, " width"],
    local: Float64[np.ndarray, "rows width"],
    selection: Float64[np.ndarray, "rows features"],
    levels: Levels,
    gains: Float64[np.ndarray, "rows width"],
    row: int,
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> float:
    """Work out a row's law and by how much its gains are below the best of a feature; return the sum of these."""
    total = 0.0
    for i in range(len(offsets)):
        first, share, best = offsets[i], selection[row, i], -np.inf
        own = first + levels[row, i]
        # A place that cannot be negative is looked up without being tested for it.
        for at in range(first, first + sizes[i]):
            place = np.uint64(at)
            mass, gain = share * local[row, place], gains[row, place]
            mass = mass + (1 - share) if at == own else mass
            best = gain if (mass > 0) & (gain > best) else best
            law[place] = mass
        for at in range(first, first + sizes[i]):
            place = np.uint64(at)
            relative[place] = gains[row, place] - best if law[place] > 0 else 0.0
        total += best
    return total


@Inlined
def _moments(
    law: Float64[np.ndarray, " width"],
    relative: Float64[np.ndarray, " width"],
    factor: Float64[np.ndarray, " width"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> tuple[float, float]:
    mean, variance = 0.0, 0.0
    for i in range(len(offsets)):
        total, first, second = 0.0, 0.0, 0.0
        for at in range(offsets[i], offsets[i] + sizes[i]):
            place = np.uint64(at)
            mass = law[place] * factor[place]
            gain = mass * relative[place]
            total += mass
            first += gain
            second += gain * relative[place]
        middle = first / total
        mean += middle
        variance += max(second / total - middle * middle, 0.0)
    return mean, variance


@Inlined
def _multiply(
    whole: Float64[np.ndarray, "rows width"],
    turned: Float64[np.ndarray, "rows features"],
    local: Float64[np.ndarray, "rows width"],
    selection: Float64[np.ndarray, "rows features"],
    levels: Levels,
    factor: Float64[np.ndarray, " width"],
    row: int,
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> None:
    for i in range(len(offsets)):
        first, share, total = offsets[i], selection[row, i], 0.0
        for at in range(first, first + sizes[i]):
            place = np.uint64(at)
            whole[row, place] = local[row, place] * factor[place]
            total += whole[row, place]
        mass = (1 - share) * factor[np.uint64(first + levels[row, i])] + share * total
        turned[row, i] = share * total / mass if mass > 0 else share
        for at in range(first, first + sizes[i]):
            place = np.uint64(at)
            whole[row, place] = whole[row, place] / total if total > 0 else local[row, place]


def eased(share: float, by: float) -> float:
    """Return a share whose odds are so many times as large.

    >>> eased(0.75, 1.0), eased(0.75, 1 / 3)
    (0.75, 0.5)
    """
    return share * by / (1 - share + share * by)
