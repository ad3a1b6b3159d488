"""Random numbers that depend on the row and the seed alone.

Every row has a stream of its own, keyed by the seed and by what the row holds, and a number in it is found by
its position (SplitMix64 as a counter-based generator). So neither the batch, nor the order of rows, nor the
machine's load changes a draw; and no global random state exists to be touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Int64, UInt32, UInt64

from l2c.core.compiled import Compiled, compiles
from l2c.core.types import Cells, Keys, Mask

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def scramble(words: UInt64[np.ndarray, "*any"]) -> UInt64[np.ndarray, "*any"]:
    """Return the words mixed by SplitMix64's finaliser (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(words ^ (words >> np.uint64(31)))


def row_keys(cells: Cells, seed: int) -> Keys:
    """Return a key for each row from its content and the seed; equal rows have equal keys.

    >>> keys = row_keys(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]), seed=0)
    >>> bool(keys[0] == keys[1]), bool(keys[0] == keys[2])
    (True, False)
    """
    # Adding zero makes -0.0 and 0.0 one; every NaN becomes the same NaN.
    canonical = np.where(np.isnan(cells), np.nan, cells) + 0.0
    words = np.ascontiguousarray(canonical).view(np.uint64)
    start = _start_of(seed)
    if compiles():
        return _folded(words, start)
    keys = np.full(len(cells), start)
    with np.errstate(over="ignore"):
        for column in words.T:
            keys = scramble((keys ^ column) + _GOLDEN)
    return keys


@lru_cache(maxsize=256)
def _start_of(seed: int) -> np.uint64:
    """Return the word that the keys of a seed start from."""
    start: np.uint64 = scramble(np.array([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64) + _GOLDEN)[0]
    return start


@Compiled
def _folded(words: UInt64[np.ndarray, "rows features"], start: Any) -> Keys:
    """Return each row's words folded into one, feature by feature."""
    keys = np.empty(len(words), np.uint64)
    for row in range(len(words)):
        key = start
        for i in range(words.shape[1]):
            key = mixed((key ^ words[row, i]) + np.uint64(0x9E3779B97F4A7C15))
        keys[row] = key
    return keys


@Compiled
def mixed(word: Any) -> Any:
    """Return a word mixed as `scramble` mixes it."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def words_of(integers: int) -> int:
    """Return how many words of a stream so many 32-bit integers take: two are in one."""
    return -(-integers // 2)


@dataclass(frozen=True, slots=True)
class Streams:
    """One stream of random 32-bit integers per row."""

    keys: Keys

    @classmethod
    def for_rows(cls, cells: Cells, seed: int) -> Streams:
        """Return the streams of these rows under this seed."""
        return cls(row_keys(cells, seed))

    def take(self, rows: Mask | np.ndarray) -> Streams:
        """Return the streams of some of the rows."""
        return Streams(self.keys[rows])

    def draws(
        self, first: Int64[np.ndarray, " rows"], count: int, each: int, *, start: int = 0
    ) -> UInt32[np.ndarray, "rows draws some"]:
        """Return `count` draws of every stream from its position `first` on, `each` integers a draw.

        With `start`, the integers before it are left out of every draw.

        >>> streams = Streams.for_rows(np.array([[1.0], [2.0]]), seed=7)
        >>> all_at_once = streams.draws(np.array([0, 0]), 4, each=3)
        >>> later = streams.draws(np.array([2, 1]), 2, each=3)
        >>> bool((all_at_once[0, 2:] == later[0]).all() and (all_at_once[1, 1:3] == later[1]).all())
        True
        """
        words_each, skipped = words_of(each), start // 2
        position = first.astype(np.uint64) * np.uint64(words_each) + np.uint64(1)
        with np.errstate(over="ignore"):
            steps = np.arange(count * words_each, dtype=np.uint64).reshape(count, words_each)[:, skipped:] * _GOLDEN
            words = scramble((self.keys + position * _GOLDEN)[:, None] + steps.reshape(1, -1))
        halves = words.astype("<u8", copy=False).view("<u4")
        halves = halves.reshape(len(self.keys), count, 2 * (words_each - skipped))
        return halves[:, :, start - 2 * skipped : each - 2 * skipped]
