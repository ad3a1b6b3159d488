"""A boosted model that judges proposals by level: which leaves of its trees each level leaves open.

Every leaf of a tree is a bit of a word. Where the value at a place fails a test, the leaves that lie on its other side
are closed; what all places of a row leave open together is a word in which the lowest bit is the leaf that the row ends
in (QuickScorer, Lucchese and others 2015). So a row takes no walk down any tree: the words of its places are put
together, a few instructions for each tree and feature, and a leaf is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64, UInt64

from l2c.core.compiled import Compiled, Inlined, compiles
from l2c.core.flat import spread
from l2c.core.layout import Layout
from l2c.core.twin import Twin, softmax
from l2c.core.types import Cells, Levels, Probabilities

MOST_LEAVES = 64
"""Leaves of one tree at the most: each is a bit of a word."""

STRANDS = 4
"""Sums that are taken side by side, one over every fourth tree: to add to one sum alone would be to wait for it."""

EVERY = np.uint64(0xFFFFFFFFFFFFFFFF)
"""All leaves."""

SPREAD = np.uint64(0x03F79D71B4CB0A89)
"""A word whose multiples by powers of two all differ in their first six bits (de Bruijn): so a bit finds its leaf."""

SEEN_BITS = 7
SEEN = 1 << SEEN_BITS
"""Numbers of a place that are remembered, so that each need be worked out but once."""

BLOCK = 1 << 12
"""Proposals judged at once where loops are not compiled."""

Words = UInt64[np.ndarray, "lines trees"]
Row = UInt64[np.ndarray, " trees"]


class Lines(NamedTuple):
    """What each place leaves open in every tree, a line for each value, and the line at each place of each row."""

    words: Words
    at: Int64[np.ndarray, "rows width"]


class Cuts(NamedTuple):
    """The tests of all numbers, feature by feature.

    Parameters
    ----------
    starts
        Where those of each feature begin, and where the last end.
    tree, cut, falling, kept
        For each test its tree, the largest number that passes it (`falling`: the smallest), and what is left open by
        one that fails.
    """

    starts: Int64[np.ndarray, " features_and_one"]
    tree: Int64[np.ndarray, " tests"]
    cut: Float64[np.ndarray, " tests"]
    falling: Bool[np.ndarray, " tests"]
    kept: UInt64[np.ndarray, " tests"]


@dataclass(frozen=True, slots=True, eq=False)
class TreeTwin(Twin):
    """A sum over trees whose tests each look at one feature, of two classes.

    Parameters
    ----------
    base
        The log-odds of the second class that the sum starts from.
    value
        What a leaf adds to them, by the slot of its bit; as many trees as strands divide.
    known
        What each place of the flat axis leaves open; where a number decides, everything.
    numeric
        Which places take a number.
    cuts
        The tests of the numbers there.
    close
        How close to a decision, or to an end of a range, is left to the model itself.
    """

    layout: Layout
    base: float
    value: Float64[np.ndarray, "trees slots"]
    known: Words
    numeric: Bool[np.ndarray, " width"]
    cuts: Cuts
    close: float

    def inputs(self, values: Float64[np.ndarray, "rows width"]) -> Lines:
        """Return what each place of rows leaves open, given the value that stands there."""
        needed = lines_needed if compiles() else lines_needed_at_once
        at, place, number = needed(np.ascontiguousarray(values), self.numeric)
        opened = opened_by if compiles() else opened_by_at_once
        told = opened(self.layout.owner[place], number, self.cuts, self.known.shape[1])
        return Lines(np.concatenate([self.known, told]), at)

    def proba(self, inputs: Lines, row: Int64[np.ndarray, " n"], levels: Levels) -> Probabilities:
        """Return the probability of each class for proposals, from the lines of their rows."""
        add_up = leads_by_tree if compiles() else leads_by_tree_at_once
        return softmax(add_up(inputs, row, levels, self.layout.offsets, self.value, self.base)[:, None])

    def of_cells(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for whole rows."""
        levels = self.layout.levels(cells)
        if compiles():
            given = (self.layout.offsets, self.numeric, self.known, self.cuts, self.value, self.base)
            return softmax(leads_of_rows(cells, levels, *given)[:, None])
        values = spread(self.layout, self.layout.representatives("median"), levels, cells)
        return self.proba(self.inputs(values), np.arange(len(cells)), levels)


def slot_of(leaf: Any) -> Any:
    """Return where a leaf's value stands, given its bit's place.

    >>> len({int(slot_of(leaf)) for leaf in range(64)})
    64
    """
    with np.errstate(over="ignore"):
        return ((np.uint64(1) << np.asarray(leaf).astype(np.uint64)) * SPREAD) >> np.uint64(58)


@Compiled
def lines_needed(
    values: Float64[np.ndarray, "rows width"], numeric: Bool[np.ndarray, " width"]
) -> tuple[Int64[np.ndarray, "rows width"], Int64[np.ndarray, " lines"], Float64[np.ndarray, " lines"]]:
    """Return the line at each place of each row, and the place and the number of those that must be worked out.

    These follow the lines of the places themselves. A number that was seen at its place shares the line that it got
    there, unless another that is remembered in the same slot came in between.
    """
    rows, width = values.shape
    bits = values.view(np.uint64)
    at, place, number = np.empty((rows, width), np.int64), np.empty(rows * width, np.int64), np.empty(rows * width)
    seen, count = np.full((width, SEEN), -1, np.int64), 0
    for row in range(rows):
        for p in range(width):
            at[row, p] = p
            if numeric[p]:
                slot = (bits[row, p] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - SEEN_BITS)
                line = seen[p, slot]
                if line < 0 or number[line] != values[row, p]:
                    line = count
                    seen[p, slot], place[line], number[line] = line, p, values[row, p]
                    count += 1
                at[row, p] = width + line
    return at, place[:count], number[:count]


def lines_needed_at_once(
    values: Float64[np.ndarray, "rows width"], numeric: Bool[np.ndarray, " width"]
) -> tuple[Int64[np.ndarray, "rows width"], Int64[np.ndarray, " lines"], Float64[np.ndarray, " lines"]]:
    """Return what `lines_needed` returns, with as many lines as there are different numbers at each place."""
    at = np.tile(np.arange(values.shape[1]), (len(values), 1))
    places, numbers, count = [np.empty(0, np.int64)], [np.empty(0)], values.shape[1]
    for p in np.flatnonzero(numeric):
        found, which = np.unique(values[:, p], return_inverse=True)
        at[:, p] = count + which
        places.append(np.full(len(found), p))
        numbers.append(found)
        count += len(found)
    return at, np.concatenate(places), np.concatenate(numbers)


@Compiled
def opened_by(
    feature: Int64[np.ndarray, " lines"], number: Float64[np.ndarray, " lines"], cuts: Cuts, trees: int
) -> Words:
    """Return what numbers of features leave open in every tree."""
    words = np.full((len(feature), trees), EVERY)
    for line in range(len(feature)):
        _close(words[line], cuts, feature[line], number[line])
    return words


@Inlined
def _close(word: Row, cuts: Cuts, feature: int, number: float) -> None:
    """Close, in every tree, what a feature's number does not leave open."""
    for test in range(cuts.starts[feature], cuts.starts[feature + 1]):
        passes = number >= cuts.cut[test] if cuts.falling[test] else number <= cuts.cut[test]
        if not passes:
            word[cuts.tree[test]] &= cuts.kept[test]


def opened_by_at_once(
    feature: Int64[np.ndarray, " lines"], number: Float64[np.ndarray, " lines"], cuts: Cuts, trees: int
) -> Words:
    """Return what `opened_by` returns, test by test."""
    words = np.full((len(feature), trees), EVERY)
    owner = np.repeat(np.arange(len(cuts.starts) - 1), np.diff(cuts.starts))
    for test, tree in enumerate(cuts.tree):
        passes = number >= cuts.cut[test] if cuts.falling[test] else number <= cuts.cut[test]
        words[(feature == owner[test]) & ~passes, tree] &= cuts.kept[test]
    return words


@Compiled
def leads_by_tree(
    lines: Lines,
    row: Int64[np.ndarray, " n"],
    levels: Levels,
    offsets: Int64[np.ndarray, " features"],
    value: Float64[np.ndarray, "trees slots"],
    base: float,
) -> Float64[np.ndarray, " n"]:
    """Return the log-odds of the second class for proposals."""
    leads, every, last = np.empty(len(row)), np.full(len(value), EVERY), len(offsets) - 1
    word, slot = every.copy(), every.copy()
    for n in range(len(row)):
        word[:] = every
        for i in range(0, len(offsets), 4):
            left_open(
                word, word, lines.words,
                lines.at[row[n], offsets[i] + levels[n, i]],
                lines.at[row[n], offsets[min(i + 1, last)] + levels[n, min(i + 1, last)]],
                lines.at[row[n], offsets[min(i + 2, last)] + levels[n, min(i + 2, last)]],
                lines.at[row[n], offsets[min(i + 3, last)] + levels[n, min(i + 3, last)]],
            )  # fmt: skip
        leads[n] = base + leaves_added(word, slot, value)
    return leads


@Compiled
def leads_of_rows(
    cells: Cells,
    levels: Levels,
    offsets: Int64[np.ndarray, " features"],
    numeric: Bool[np.ndarray, " width"],
    known: Words,
    cuts: Cuts,
    value: Float64[np.ndarray, "trees slots"],
    base: float,
) -> Float64[np.ndarray, " rows"]:
    """Return the log-odds of the second class for whole rows, which are told by no lines of their own."""
    leads, word = np.empty(len(cells)), np.empty(len(value), np.uint64)
    slot = word.copy()
    for row in range(len(cells)):
        word[:] = EVERY
        for i in range(len(offsets)):
            place = offsets[i] + levels[row, i]
            if numeric[place]:
                _close(word, cuts, i, cells[row, i])
            else:
                left_open(word, word, known, place, place, place, place)
        leads[row] = base + leaves_added(word, slot, value)
    return leads


@Inlined
def left_open(word: Row, before: Row, words: Words, a: int, b: int, c: int, d: int) -> None:
    """Write down what four lines leave open in every tree, of what was open before."""
    # Four at a time: words are then fetched and put back less often. A line that is named twice closes nothing more.
    one, two, three, four = np.uint64(a), np.uint64(b), np.uint64(c), np.uint64(d)
    for t in range(len(word)):
        word[t] = before[t] & words[one, t] & words[two, t] & words[three, t] & words[four, t]


@Inlined
def leaves_added(word: Row, slot: Row, value: Float64[np.ndarray, "trees slots"]) -> float:
    """Return the sum of the leaves that are the first left open; `slot` is working space."""
    for t in range(len(word)):
        slot[t] = ((word[t] & (~word[t] + np.uint64(1))) * SPREAD) >> np.uint64(58)
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    for t in range(0, len(word), 4):
        one += value[t, slot[t]]
        two += value[t + 1, slot[t + 1]]
        three += value[t + 2, slot[t + 2]]
        four += value[t + 3, slot[t + 3]]
    return (one + two) + (three + four)


def leads_by_tree_at_once(
    lines: Lines,
    row: Int64[np.ndarray, " n"],
    levels: Levels,
    offsets: Int64[np.ndarray, " features"],
    value: Float64[np.ndarray, "trees slots"],
    base: float,
) -> Float64[np.ndarray, " n"]:
    """Return what `leads_by_tree` returns, many proposals at once."""
    leads = np.empty(len(row))
    for start in range(0, len(row), BLOCK):
        some = slice(start, start + BLOCK)
        at = lines.at[row[some, None], levels[some] + offsets]
        word = lines.words[at[:, 0]]
        for line in at.T[1:]:
            word &= lines.words[line]
        with np.errstate(over="ignore"):
            added = value[np.arange(len(value)), ((word & (~word + np.uint64(1))) * SPREAD) >> np.uint64(58)]
        strands = [np.cumsum(added[:, strand::STRANDS], axis=1)[:, -1] for strand in range(STRANDS)]
        leads[some] = base + ((strands[0] + strands[1]) + (strands[2] + strands[3]))
    return leads
