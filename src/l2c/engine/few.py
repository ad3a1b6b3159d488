"""Which features change, when at most so many may: the selector's coins, conditioned on their sum.

Independent coins with chances c_i would nearly always show too many heads. Given that at most m may, the coins are
drawn one after the other: with k left to spend, feature i is chosen with c_i · T_{i+1}(k − 1) / T_i(k), where T_i(k)
is the probability that the features from i on show at most k heads. That is the exact conditional law.

With many features T is smaller than any number, so it is never worked out: R_i(k) = T_i(k − 1) / T_i(k) is enough.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float64, Int64, UInt32

from l2c.engine.sample import BITS

NEARLY_SURE = 1 - 1e-12
"""The chance of features that would surely change, where more of them would than may: then each may stay."""


def few_coins(
    chance: Float64[np.ndarray, "rows features"],
    most: Int64[np.ndarray, " rows"],
    uniforms: UInt32[np.ndarray, "rows draws features"],
) -> Bool[np.ndarray, "rows draws features"]:
    """Return which features change in each draw, at most `most` of them.

    Parameters
    ----------
    chance
        The probability with which each feature would change by itself.
    uniforms
        A uniform 32-bit integer for each feature.
    """
    crowded = (chance == 1).sum(axis=1) > most
    chance = np.where(crowded[:, None], np.minimum(chance, NEARLY_SURE), chance)
    left = np.repeat(most[:, None], uniforms.shape[1], axis=1)
    row = np.arange(len(most))[:, None]
    coins = np.empty(uniforms.shape, dtype=bool)
    for i, ratio in enumerate(_ratios(chance, int(most.max(initial=0)))):
        stays, changes = 1 - chance[:, i, None], chance[:, i, None] * ratio
        share = (changes / _positive(stays + changes))[row, left]
        coins[:, :, i] = (uniforms[:, :, i] >> np.uint32(32 - BITS)) < np.rint(share * 2.0**BITS)
        left = left - coins[:, :, i]
    return coins


def _ratios(chance: Float64[np.ndarray, "rows features"], most: int) -> list[Float64[np.ndarray, "rows spend"]]:
    """Return R_{i+1}(k) for every feature i and k = 0 … most."""
    ratio = np.ones((len(chance), most + 1))
    ratio[:, 0] = 0.0
    ratios = [ratio]
    for column in chance.T[:0:-1]:
        # T_i(k) = (1 − c_i) T_{i+1}(k) + c_i T_{i+1}(k − 1), over T_{i+1}(k)
        grown = (1 - column[:, None]) + column[:, None] * ratio
        ratio = np.concatenate([ratio[:, :1], ratio[:, 1:] * grown[:, :-1] / _positive(grown[:, 1:])], axis=1)
        ratios.append(ratio)
    return ratios[::-1]


def _positive(total: Float64[np.ndarray, "rows spend"]) -> Float64[np.ndarray, "rows spend"]:
    """Return what can be divided by: nothing is left of 0 / 0."""
    return np.where(total > 0, total, 1.0)
