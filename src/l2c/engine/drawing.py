"""Draws, compiled: from each row's stream straight to levels, of independent features or along the reference law.

They are what `draw_levels` and `draw_given_kept` make of the same streams, step by step in the same order, so that not
even rounding tells them apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float64, Int64, UInt32

from l2c.core.compiled import Compiled
from l2c.core.types import Keys, Levels
from l2c.engine.conditional import VANISHING

UNIT = 2.0**-31
"""The step of uniform numbers of 31 bits."""

TOGETHER = 256
"""Draws of one row worked on at once: so many fit in the processor's nearest memory."""


@Compiled
def drawn_levels(
    keys: Keys,
    first: Int64[np.ndarray, " rows"],
    count: int,
    words_each: int,
    cdf: UInt32[np.ndarray, "rows width"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> Levels:
    """Return what `draw_levels` makes of the streams' draws from `first` on.

    Parameters
    ----------
    keys
        The key of each row's stream.
    words_each
        How many 64-bit words of the stream a draw takes.
    cdf
        The distribution function of each feature on the integers 0 … 2**31.
    """
    rows, features = len(keys), len(sizes)
    levels = np.empty((rows, count, features), np.int16)
    words, uniform, level = np.empty(TOGETHER, np.uint64), np.empty(TOGETHER, np.uint32), np.empty(TOGETHER, np.int16)
    for row in range(rows):
        for start in range(0, count, TOGETHER):
            some = min(TOGETHER, count - start)
            for i in range(features):
                if i % 2 == 0:
                    stream_words(words, some, keys[row], (first[row] + start) * words_each + i // 2, words_each)
                half = np.uint64(1 + 32 * (i % 2))
                for d in range(some):
                    uniform[d] = np.uint32((words[d] >> half) & np.uint64(0x7FFFFFFF))
                level[:some] = 0
                for place in range(offsets[i], offsets[i] + sizes[i] - 1):
                    edge = cdf[row, place]
                    for d in range(some):
                        level[d] += uniform[d] >= edge
                for d in range(some):
                    levels[row, start + d, i] = level[d]
    return levels


@Compiled
def stream_words(words: np.ndarray, some: int, key: int, position: int, step: int) -> None:
    """Fill in the words of a stream at a position and every so many on, as `Streams.draws` finds them."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    state = key + np.uint64(position + 1) * golden
    for d in range(some):
        word = state + np.uint64(d * step) * golden
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        words[d] = word ^ (word >> np.uint64(31))


@Compiled
def likely_levels(
    keys: Keys,
    first: Int64[np.ndarray, " rows"],
    count: int,
    words_each: int,
    coins: UInt32[np.ndarray, "rows features"],
    weights: Float64[np.ndarray, "rows width"],
    own: Levels,
    order: Int64[np.ndarray, " features"],
    parent: Int64[np.ndarray, " features"],
    tables: Float64[np.ndarray, " entries"],
    starts: Int64[np.ndarray, " features"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> Levels:
    """Return draws whose changed features follow a tree of dependences given the kept ones.

    Parameters
    ----------
    coins
        Below which integer a feature is selected, of 0 … 2**31.
    weights, own
        For each row, each level's own weight, and the levels to keep.
    order, parent
        The tree: parents before their children.
    tables, starts
        The tables of all features one after the other, each by parent level and level, and where each begins.
    """
    features = len(sizes)
    levels = np.empty((len(keys), count, features), np.int16)
    words, belief = np.empty(words_each, np.uint64), np.empty(offsets[-1] + sizes[-1])
    chosen, leaf = np.empty(features, np.bool_), np.ones(features, np.bool_)
    for i in order[1:]:
        leaf[parent[i]] = False
    # What each child says of its parent's levels; of a leaf that is drawn it is the same in all draws of a row.
    told, told_whole = np.empty((features, sizes.max())), np.empty((features, sizes.max()))
    for row in range(len(keys)):
        for i in order[1:]:
            if leaf[i]:
                belief[offsets[i] : offsets[i] + sizes[i]] = weights[row, offsets[i] : offsets[i] + sizes[i]]
                _sum_out(told_whole, i, sizes[parent[i]], tables, starts[i], belief, offsets[i], sizes[i])
        for draw in range(count):
            stream_words(words, words_each, keys[row], (first[row] + draw) * words_each, 1)
            for i in range(features):
                levels[row, draw, i] = own[row, i]
                chosen[i] = _uniform(words, features + i) < coins[row, i]
            for place in range(len(belief)):
                belief[place] = weights[row, place]
            for place in range(features - 1, 0, -1):
                i = order[place]
                p = parent[i]
                if not chosen[p]:
                    continue
                if chosen[i] and leaf[i]:
                    _take_in(belief, offsets[p], sizes[p], told_whole, i)
                    continue
                if chosen[i]:
                    _sum_out(told, i, sizes[p], tables, starts[i], belief, offsets[i], sizes[i])
                else:
                    for k in range(sizes[p]):
                        told[i, k] = tables[starts[i] + k * sizes[i] + own[row, i]]
                _take_in(belief, offsets[p], sizes[p], told, i)
            for place in range(features):
                i = order[place]
                if chosen[i]:
                    given = levels[row, draw, parent[i]] if parent[i] >= 0 else 0
                    start = starts[i] + given * sizes[i]
                    levels[row, draw, i] = _fallen(belief, offsets[i], sizes[i], tables, start, _uniform(words, i))
    return levels


@Compiled
def _uniform(words: np.ndarray, place: int) -> Any:
    """Return an integer of 31 bits: half a word."""
    return np.uint32((words[place // 2] >> np.uint64(1 + 32 * (place % 2))) & np.uint64(0x7FFFFFFF))


# Places in whole arrays are passed on, and not parts of arrays: each part made would cost as much as its work.


@Compiled
def _sum_out(
    told: np.ndarray, child: int, above: int, tables: np.ndarray, start: int, belief: np.ndarray, offset: int, size: int
) -> None:
    """Work out what a child says of each level of its parent, with all its own levels summed out."""
    for k in range(above):
        total = 0.0
        for j in range(size):
            total += belief[offset + j] * tables[start + k * size + j]
        told[child, k] = total


@Compiled
def _take_in(belief: np.ndarray, offset: int, size: int, told: np.ndarray, child: int) -> None:
    """Multiply what is believed of a feature by what a child says, and keep it from vanishing."""
    top = 0.0
    for k in range(size):
        belief[offset + k] *= told[child, k]
        top = max(top, belief[offset + k])
    if top < VANISHING:
        for k in range(size):
            belief[offset + k] /= top


@Compiled
def _fallen(belief: np.ndarray, offset: int, size: int, tables: np.ndarray, start: int, uniform: Any) -> int:
    """Return the level that a uniform integer falls on."""
    total = 0.0
    for j in range(size):
        belief[offset + j] *= tables[start + j]
        total += belief[offset + j]
    threshold = uniform * UNIT * total
    running, level = 0.0, 0
    for j in range(size - 1):
        running += belief[offset + j]
        level += threshold >= running
    return level
