"""A black box that is not asked about a row again."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int64, UInt64

from l2c.core.blackbox import Around, BlackBox
from l2c.core.compiled import Compiled, compiles
from l2c.core.types import Cells, Probabilities

Words = UInt64[np.ndarray, "rows features"]
"""Rows as the bits of their cells; the same number written otherwise is another row, which costs a question."""


@dataclass(slots=True, eq=False)
class Remembering(Around):
    """A black box that is not asked about a row again.

    What is known is found by a table of places where loops are compiled, and by a dictionary where they are not.
    """

    blackbox: BlackBox
    known: Words | None = None
    table: Int64[np.ndarray, " slots"] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    by_row: dict[bytes, int] = field(default_factory=dict)
    answers: Probabilities = field(init=False)

    def __post_init__(self) -> None:
        self.answers = np.empty((0, len(self.classes)))

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        words = np.ascontiguousarray(cells).view(np.uint64)
        places, new = (self._from_table if compiles() else self._from_dictionary)(words)
        if len(new):
            told = self.blackbox.proba(cells if len(new) == len(cells) else cells.take(new, axis=0))
            self.answers = np.concatenate([self.answers, told]) if len(self.answers) else told
        return self.answers.take(places, axis=0)

    def _from_table(self, words: Words) -> tuple[Int64[np.ndarray, " rows"], Int64[np.ndarray, " new"]]:
        """Return where the answer for each row stands, and which rows are new, in the order of theirs to come."""
        known = words[:0] if self.known is None else self.known
        if len(self.table) < 2 * (len(known) + len(words)):
            # At most half full, so that a place is found soon; twice that, so that it need not grow again at once.
            self.table = np.full(1 << (4 * (len(known) + len(words))).bit_length(), -1)
            if len(known):
                looked_up(known, known[:0], self.table)
        places, new = looked_up(words, known, self.table)
        if len(new):
            self.known = np.concatenate([known, words[new]]) if len(known) else words[new]
        return places, new

    def _from_dictionary(self, words: Words) -> tuple[Int64[np.ndarray, " rows"], Int64[np.ndarray, " new"]]:
        """Return what `_from_table` returns."""
        data, width, before = words.tobytes(), words.shape[1] * words.itemsize, len(self.by_row)
        keys = (data[start : start + width] for start in range(0, len(data), width))
        places = np.array([self.by_row.setdefault(key, len(self.by_row)) for key in keys], dtype=np.int64)
        _, first = np.unique(places, return_index=True)
        return places, first[places[first] >= before]


@Compiled
def looked_up(
    words: Words, known: Words, table: Int64[np.ndarray, " slots"]
) -> tuple[Int64[np.ndarray, " rows"], Int64[np.ndarray, " new"]]:
    """Return the place of each row among those that are known, and which rows are new: they follow, in their order.

    Their places are put in the table, in a slot that the bits of a row decide; where it is taken, in the next.
    """
    places, new, count = np.empty(len(words), np.int64), np.empty(len(words), np.int64), 0
    for n in range(len(words)):
        key = np.uint64(0)
        for i in range(words.shape[1]):
            key = (key ^ words[n, i]) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(32)
        slot = np.int64(key & np.uint64(len(table) - 1))
        while True:
            place = table[slot]
            if place < 0:
                place = len(known) + count
                table[slot], new[count] = place, n
                count += 1
                break
            same = True
            for i in range(words.shape[1]):
                other = known[place, i] if place < len(known) else words[new[place - len(known)], i]
                same &= words[n, i] == other
            if same:
                break
            slot = (slot + 1) & (len(table) - 1)
        places[n] = place
    return places, new[:count]
