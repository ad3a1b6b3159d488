"""Which proposals are worth a question: those that their row has not drawn before, and that lie in its room.

Every row remembers what it has drawn by a 64-bit fingerprint: in a table of its own where loops are compiled, in one
sorted list for all rows where they are not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64, UInt64

from l2c.core.compiled import Compiled, Inlined, compiles
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.streams import mixed, scramble
from l2c.core.types import Levels, Mask
from l2c.release.obey import fits

FIRST_SLOTS = 64
"""The least room of a row's table; it is kept at most half full."""

Prints = UInt64[np.ndarray, " n"]


@dataclass(slots=True, eq=False)
class Sieve:
    """What each row of a question has drawn so far."""

    layout: Layout
    question: Question
    words: UInt64[np.ndarray, " features"] = field(init=False)
    shifts: Int64[np.ndarray, " features"] = field(init=False)
    sorted: Prints = field(init=False)
    table: Prints = field(init=False)
    start: Int64[np.ndarray, " rows"] = field(init=False)
    slots: Int64[np.ndarray, " rows"] = field(init=False)
    filled: Int64[np.ndarray, " rows"] = field(init=False)

    def __post_init__(self) -> None:
        self.words, self.shifts = words_for(tuple(self.layout.sizes.tolist()))
        self.sorted, self.table = (np.empty(0, dtype=np.uint64) for _ in range(2))
        self.start, self.slots, self.filled = (np.zeros(len(self.question), dtype=np.int64) for _ in range(3))

    def worth_asking(self, row: Int64[np.ndarray, " n"], levels: Levels) -> Mask:
        """Return which proposals are new to their row and lie in its room, and remember all of them."""
        question = self.question
        if not compiles():
            new = self._first_seen(fingerprints(self.words, row, levels))
            new[new] = fits(self.layout, question.room, row[new], question.levels[row[new]], levels[new])
            return new
        self._grow(np.bincount(row, minlength=len(self.filled)))
        return sifted(
            row, levels, self.layout.offsets, self.words, question.room.open, question.levels,
            question.room.changes, self.table, self.start, self.slots, self.filled,
        )  # fmt: skip

    def remember(self, row: Int64[np.ndarray, " n"], keys: Prints) -> None:
        """Take note of what rows have drawn elsewhere; loops are compiled."""
        self._grow(np.bincount(row, minlength=len(self.filled)))
        put_all(self.table, self.start, self.slots, self.filled, row, keys)

    def _first_seen(self, keys: Prints) -> Mask:
        _, first = np.unique(keys, return_index=True)
        new = np.zeros(len(keys), dtype=bool)
        new[first] = True
        place = np.searchsorted(self.sorted, keys)
        place[place == len(self.sorted)] = 0
        if len(self.sorted):
            new &= self.sorted[place] != keys
        self.sorted = np.sort(np.concatenate([self.sorted, keys[new]]))
        return new

    def _grow(self, more: Int64[np.ndarray, " rows"]) -> None:
        """Give a larger table to the rows whose own would become more than half full."""
        needed = 2 * (self.filled + more)
        rows = np.flatnonzero((needed > self.slots) & (more > 0))
        if not len(rows):
            return
        slots = np.maximum(FIRST_SLOTS, 2 ** np.ceil(np.log2(needed[rows])).astype(np.int64))
        start = len(self.table) + np.cumsum(slots) - slots
        self.table = np.concatenate([self.table, np.zeros(int(slots.sum()), dtype=np.uint64)])
        moved_in(self.table, self.start[rows], self.slots[rows], start, slots)
        self.start[rows], self.slots[rows] = start, slots


@lru_cache(maxsize=256)
def words_for(
    sizes: tuple[int, ...],
) -> tuple[UInt64[np.ndarray, " features"], Int64[np.ndarray, " features"]]:
    """Return the word by which each feature's levels count in fingerprints, and as how many places of bits it shifts.

    Levels that fit side by side in 64 bits are put there, for to shift costs less than to multiply; where they do not,
    words are random ones, and shift none: −1.

    >>> words, shifts = words_for((3, 2, 5))
    >>> words.tolist(), shifts.tolist()
    ([1, 4, 8], [0, 2, 3])
    """
    bits = np.ceil(np.log2(np.maximum(sizes, 2))).astype(np.int64)
    if bits.sum() > 64:
        return random_words(len(sizes)), np.full(len(sizes), -1)
    shifts = np.cumsum(bits) - bits
    return np.uint64(1) << shifts.astype(np.uint64), shifts


def random_words(features: int) -> UInt64[np.ndarray, " features"]:
    """Return a random odd word for each feature, the same ones always."""
    return scramble(np.arange(1, features + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)


def fingerprints(words: UInt64[np.ndarray, " features"], row: Int64[np.ndarray, " n"], levels: Levels) -> Prints:
    """Return a 64-bit key of each proposal and its row, never 0: levels times words, added up and mixed."""
    with np.errstate(over="ignore"):
        total = scramble(row.astype(np.uint64))
        for word, level in zip(words, levels.T, strict=True):
            total = total + word * (level + 1).astype(np.uint64)
    return np.maximum(scramble(total), np.uint64(1))


@Compiled
def sifted(
    row: Int64[np.ndarray, " n"],
    levels: Levels,
    offsets: Int64[np.ndarray, " features"],
    words: UInt64[np.ndarray, " features"],
    allowed: Bool[np.ndarray, "rows width"],
    own: Levels,
    changes: Int64[np.ndarray, " rows"],
    table: Prints,
    start: Int64[np.ndarray, " rows"],
    slots: Int64[np.ndarray, " rows"],
    filled: Int64[np.ndarray, " rows"],
) -> Bool[np.ndarray, " n"]:
    """Return which proposals are new to their row and lie in its room; their fingerprints are put in its table."""
    good = np.empty(len(row), np.bool_)
    for n in range(len(row)):
        r = row[n]
        total = mixed(np.uint64(r))
        inside, moved = True, 0
        for i in range(len(offsets)):
            level = levels[n, i]
            place = offsets[i] + level
            total += words[i] * np.uint64(level + 1)
            inside &= allowed[r, place]
            moved += level != own[r, i]
        new = put(table, start[r], slots[r], max(mixed(total), np.uint64(1)))
        filled[r] += new
        good[n] = new and inside and moved <= changes[r]
    return good


@Inlined
def put(table: Prints, start: int, slots: int, key: Any) -> bool:
    """Put a key in a row's table, and return whether it was not there."""
    # Places that cannot be negative are looked up without being tested for it.
    begin, last = np.uint64(start), np.uint64(slots - 1)
    slot = key & last
    while table[begin + slot] != np.uint64(0):
        if table[begin + slot] == key:
            return False
        slot = (slot + np.uint64(1)) & last
    table[begin + slot] = key
    return True


@Compiled
def put_all(
    table: Prints,
    start: Int64[np.ndarray, " rows"],
    slots: Int64[np.ndarray, " rows"],
    filled: Int64[np.ndarray, " rows"],
    row: Int64[np.ndarray, " n"],
    keys: Prints,
) -> None:
    """Put keys in the tables of their rows."""
    for n in range(len(row)):
        filled[row[n]] += put(table, start[row[n]], slots[row[n]], keys[n])


@Compiled
def moved_in(
    table: Prints,
    old: Int64[np.ndarray, " rows"],
    old_slots: Int64[np.ndarray, " rows"],
    new: Int64[np.ndarray, " rows"],
    new_slots: Int64[np.ndarray, " rows"],
) -> None:
    """Copy the keys of rows from their old tables to their new ones."""
    for r in range(len(old)):
        for slot in range(old_slots[r]):
            if table[old[r] + slot] != np.uint64(0):
                put(table, new[r], new_slots[r], table[old[r] + slot])
