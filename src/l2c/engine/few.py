"""Which features change, when at most so many may: the selector's coins, conditioned on their sum.

Independent coins with chances c_i would nearly always show too many heads. Given that at most m may, the coins are
drawn one after the other: with k left to spend, feature i is chosen with c_i · T_{i+1}(k − 1) / T_i(k), where T_i(k)
is the probability that the features from i on show at most k heads. That is the exact conditional law.

With many features T is smaller than any number, so it is never worked out: R_i(k) = T_i(k − 1) / T_i(k) is enough.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float64, Int64, UInt32

from l2c.core.compiled import Compiled
from l2c.core.types import Keys
from l2c.engine.drawing import TOGETHER, stream_halves
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
    edges = edges_left(chance, most)
    left = np.repeat(most[:, None], uniforms.shape[1], axis=1)
    row = np.arange(len(most))[:, None]
    coins = np.empty(uniforms.shape, dtype=bool)
    for i in range(chance.shape[1]):
        coins[:, :, i] = (uniforms[:, :, i] >> np.uint32(32 - BITS)) < edges[row, i, left]
        left = left - coins[:, :, i]
    return coins


@Compiled
def few_coins_along(
    keys: Keys,
    first: Int64[np.ndarray, " rows"],
    count: int,
    words_each: int,
    edges: UInt32[np.ndarray, "rows features spend"],
    most: Int64[np.ndarray, " rows"],
) -> Bool[np.ndarray, "rows draws features"]:
    """Return what `few_coins` makes of the streams' draws from `first` on, of the integers after those of the levels.

    Parameters
    ----------
    keys, words_each
        The key of each row's stream, and how many words of it a draw takes.
    edges
        What `edges_left` tells.
    """
    features = edges.shape[1]
    coins = np.empty((len(keys), count, features), np.bool_)
    lower, upper, left = np.empty(TOGETHER, np.uint32), np.empty(TOGETHER, np.uint32), np.empty(TOGETHER, np.int64)
    for row in range(len(keys)):
        for start in range(0, count, TOGETHER):
            some, have = min(TOGETHER, count - start), -1
            left[:some] = most[row]
            for i in range(features):
                place = features + i
                if place // 2 != have:
                    have = place // 2
                    position = (first[row] + start) * words_each + have
                    stream_halves(lower, upper, some, keys[row], position, words_each)
                uniform = lower if place % 2 == 0 else upper
                for d in range(some):
                    falls = uniform[d] < edges[row, i, left[d]]
                    coins[row, start + d, i] = falls
                    left[d] -= falls
    return coins


def edges_left(
    chance: Float64[np.ndarray, "rows features"], most: Int64[np.ndarray, " rows"]
) -> UInt32[np.ndarray, "rows features spend"]:
    """Return below which integer each feature's coin falls, by how many changes are left to spend."""
    crowded = (chance == 1).sum(axis=1) > most
    chance = np.where(crowded[:, None], np.minimum(chance, NEARLY_SURE), chance)
    edges = np.empty((*chance.shape, int(most.max(initial=0)) + 1), np.uint32)
    for i, ratio in enumerate(_ratios(chance, edges.shape[2] - 1)):
        stays, changes = 1 - chance[:, i, None], chance[:, i, None] * ratio
        edges[:, i] = np.rint(changes / _positive(stays + changes) * 2.0**BITS)
    return edges


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
