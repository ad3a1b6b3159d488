"""Draws of independent features, compiled: from each row's stream straight to what `draw_levels` makes of it."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int64, UInt32

from l2c.core.compiled import Compiled, Inlined
from l2c.core.streams import mixed
from l2c.core.types import Keys, Levels

TOGETHER = 256
"""Draws of one row worked on at once: so many fit in the processor's nearest memory."""

LANES = 32
"""Draws are worked on in multiples of this, some in vain: what is left over would not be vector instructions."""


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
    lower, upper, level = np.empty(TOGETHER, np.uint32), np.empty(TOGETHER, np.uint32), np.empty(TOGETHER, np.int16)
    for row in range(rows):
        for start in range(0, count, TOGETHER):
            some = min(TOGETHER, count - start)
            for i in range(features):
                if i % 2 == 0:
                    position = (first[row] + start) * words_each + i // 2
                    stream_halves(lower, upper, some, keys[row], position, words_each)
                uniform = lower if i % 2 == 0 else upper
                level[:some] = 0
                for place in range(offsets[i], offsets[i] + sizes[i] - 1):
                    edge = cdf[row, place]
                    for d in range(some):
                        level[d] += uniform[d] >= edge
                for d in range(some):
                    levels[row, start + d, i] = level[d]
    return levels


@Inlined
def stream_halves(
    lower: UInt32[np.ndarray, " draws"],
    upper: UInt32[np.ndarray, " draws"],
    some: int,
    key: int,
    position: int,
    step: int,
) -> None:
    """Fill in both halves, 31 bits each, of the words of a stream at a position and every so many on.

    The words are those that `Streams.draws` finds.
    """
    golden = np.uint64(0x9E3779B97F4A7C15)
    state, farther = key + np.uint64(position + 1) * golden, np.uint64(step) * golden
    for d in range(some):
        # Taken apart at once: a loop that only mixes would become vector instructions, slower than to multiply.
        word = mixed(state)
        lower[d] = np.uint32(word & np.uint64(0xFFFFFFFF)) >> np.uint32(1)
        upper[d] = np.uint32(word >> np.uint64(33))
        state += farther
