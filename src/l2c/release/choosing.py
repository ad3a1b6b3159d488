"""The inner loops of choosing a set, in whole numbers: row by row compiled, or all rows at once in numpy.

What a candidate adds to a set is its own worth plus a pull times how many features it differs in from the members,
summed over them; both are whole numbers, so that sums are exact and ties fall alike however they are reached: the
first of equals is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Int32, Int64, UInt8

from l2c.core.compiled import Compiled, Inlined
from l2c.core.types import Levels

TAKEN = 1 << 30
"""What is taken off the gain of those that cannot be chosen, which brings it below any other's."""

ROOM = 1 << 27
"""Gains stay below this in size, so that they fit in 32 bits whatever is added and taken off."""

READ = 1 << 62
"""What is taken off a member that stands in its place already, among 64-bit numbers."""

STRIP = 256
"""Candidates worked on at once: they stay in the processor's nearest memory, and loops are of a known length."""

REMEMBERED = 1 << 22
"""Numbers of features apart, of members and candidates, that are kept while a row's set is made."""

Pool = UInt8[np.ndarray, "rows features pool"] | Int32[np.ndarray, "rows features pool"]
Gains = Int32[np.ndarray, "rows pool"]
Pulls = Int32[np.ndarray, " rows"]
Sets = Int64[np.ndarray, "rows size"]
Columns = np.ndarray
"""The candidates of one row, or the members of its set, feature by feature, in whole strips."""
Apart = np.ndarray
"""For each member, in how many features each candidate differs from it; the last line serves all that have none."""
Row = np.ndarray
"""A number for each candidate of one row, or for each member of its set."""


@Compiled
def best_sets(
    levels: Levels, position: Int64[np.ndarray, "rows pool"], worth: Gains, pull: Pulls, size: int, kind: np.ndarray
) -> Sets:
    """Return each row's set: grown one by one, then improved by swaps, then put in the order to be read.

    Parameters
    ----------
    levels, position
        The candidates of all rows by level, and where those of each row stand among them; -1 for none.
    worth, pull
        What a candidate adds by itself, and what each feature adds in which it differs from a member.
    kind
        An array of a type that holds every level and the number of features: the smaller, the faster.
    """
    rows, places = position.shape
    features, strips = levels.shape[1], -(-places // STRIP)
    chosen = np.full((rows, size), -1, np.int64)
    at, columns = np.empty(strips * STRIP, np.int64), np.empty((features, strips * STRIP), kind.dtype)
    apart = np.empty((1 + min(size, REMEMBERED // (strips * STRIP)), strips * STRIP), kind.dtype)
    gains, tops = np.empty(strips * STRIP, np.int32), np.empty(strips, np.int32)
    members, beside = np.empty((features, -(-size // STRIP) * STRIP), kind.dtype), np.empty((2, size), np.int64)
    for row in range(rows):
        varied = _lay_out(columns, levels, position, row, at)
        for c in range(len(gains)):
            gains[c] = worth[row, c] if c < places and position[row, c] >= 0 else -TAKEN
        count = _grow(columns, varied, gains, chosen, row, pull[row], apart, tops)
        if count == size and size < places:
            _swap(columns, varied, gains, chosen, row, pull[row], apart, tops)
        _reorder(columns, varied, worth, chosen, row, count, pull[row], members, apart, beside)
    return chosen


# Whole arrays and places in them are handed on, and unsigned places where it matters: parts of arrays, and places that
# might count from the end, would keep loops from becoming vector instructions.


@Compiled
def _lay_out(columns: Columns, levels: Levels, position: np.ndarray, row: int, at: Row) -> int:
    """Write the candidates down by those features in which they are not all alike; return how many these are."""
    first = max(position[row].max(), 0)
    for c in range(len(at)):
        at[c] = position[row, c] if c < position.shape[1] and position[row, c] >= 0 else first
    varied = 0
    for i in range(levels.shape[1]):
        for c in range(len(at)):
            columns[varied, c] = levels[np.uint64(at[c]), i]
        differing = False
        for c in range(len(at)):
            differing |= columns[varied, c] != columns[varied, 0]
        varied += differing
    return varied


@Inlined
def _count_apart(columns: Columns, features: int, one: int, apart: Apart, line: int, start: int) -> None:
    """Count the features in which each candidate of a strip differs from one of all."""
    for c in range(STRIP):
        apart[line, np.uint64(start) + np.uint64(c)] = 0
    for i in range(features):
        level = columns[i, one]
        for c in range(STRIP):
            place = np.uint64(start) + np.uint64(c)
            apart[line, place] += columns[i, place] != level


@Inlined
def _add(gains: Row, pull: int, apart: Apart, line: int, start: int) -> Any:
    """Add to the gains of a strip what differing from a member adds; return the highest."""
    top = np.int32(-TAKEN)
    for c in range(STRIP):
        place = np.uint64(start) + np.uint64(c)
        gains[place] += np.int32(pull * np.int32(apart[line, place]))
        top = max(top, gains[place])
    return top


@Inlined
def _grow(
    columns: Columns, features: int, gains: Row, chosen: Sets, row: int, pull: int, apart: Apart, tops: Row
) -> int:
    """Fill a set one by one with the candidate that adds most, as far as there are any; return how many."""
    for strip in range(len(tops)):
        tops[strip] = _add(gains, 0, apart, 0, strip * STRIP)
    for place in range(chosen.shape[1]):
        best = _highest(gains, tops)
        if gains[best] < -ROOM:
            return place
        chosen[row, place] = best
        _take(columns, features, best, gains, pull, apart, min(place, len(apart) - 1), tops)
    return chosen.shape[1]


@Inlined
def _highest(gains: Row, tops: Row) -> int:
    """Return the place of the first of the highest gains."""
    best = 0
    for strip in range(len(tops)):
        if tops[strip] > tops[best]:
            best = strip
    place = best * STRIP
    while gains[place] != tops[best]:
        place += 1
    return place


@Inlined
def _take(columns: Columns, features: int, one: int, gains: Row, pull: int, apart: Apart, line: int, tops: Row) -> None:
    """Make a candidate a member."""
    gains[one] -= TAKEN
    for strip in range(len(tops)):
        _count_apart(columns, features, one, apart, line, strip * STRIP)
        tops[strip] = _add(gains, pull, apart, line, strip * STRIP)


@Inlined
def _swap(
    columns: Columns, features: int, gains: Row, chosen: Sets, row: int, pull: int, apart: Apart, tops: Row
) -> None:
    """Let each member give way to the candidate that would add most in its stead, if that is more.

    Once: to begin anew gained 0.06 points of H(N) at the most, on dev rows of four data sets, and no plausibility.
    """
    last = len(apart) - 1
    for place in range(chosen.shape[1]):
        old, line = chosen[row, place], min(place, last)
        if line == last:
            for start in range(0, len(gains), STRIP):
                _count_apart(columns, features, old, apart, line, start)
        best = _better(gains, old, pull, apart, line, tops)
        if best >= 0:
            chosen[row, place] = best
            for start in range(0, len(gains), STRIP):
                _add(gains, -pull, apart, line, start)
            gains[old] += TAKEN
            _take(columns, features, best, gains, pull, apart, line, tops)


@Inlined
def _better(gains: Row, old: int, pull: int, apart: Apart, line: int, tops: Row) -> int:
    """Return the first of those that would add most in a member's stead, -1 if none would add more than it."""
    best, most = -1, gains[old] + np.int32(TAKEN)
    for strip in range(len(tops)):
        # In a member's stead a candidate adds no more than beside it: a strip of low gains is passed over.
        if tops[strip] > most:
            top = most
            for c in range(STRIP):
                place = np.uint64(strip * STRIP) + np.uint64(c)
                top = max(top, gains[place] - np.int32(pull * np.int32(apart[line, place])))
            if top > most:
                best, most = strip * STRIP, top
                while gains[best] - np.int32(pull * np.int32(apart[line, best])) != top:
                    best += 1
    return best


@Compiled
def _reorder(
    columns: Columns,
    features: int,
    worth: Gains,
    chosen: Sets,
    row: int,
    count: int,
    pull: int,
    members: Columns,
    apart: Apart,
    beside: np.ndarray,
) -> None:
    """Put a set in the order to read it: the best first, then each the best beside those before it."""
    ordered = np.sort(chosen[row, :count])
    for place in range(count):
        beside[0, place] = beside[1, place] = worth[row, ordered[place]]
        for i in range(features):
            members[i, place] = columns[i, ordered[place]]
    # Beside the mean of those before, and not their sum: times the whole set's size less one, to stay whole.
    spread = np.int64(pull) * max(chosen.shape[1] - 1, 1)
    for rank in range(count):
        top = beside[1, 0]
        for place in range(count):
            top = max(top, beside[1, place])
        best = 0
        while beside[1, best] != top:
            best += 1
        chosen[row, rank] = ordered[best]
        beside[1, best] = -READ
        for start in range(0, count, STRIP):
            _count_apart(members, features, best, apart, 0, start)
        for place in range(count):
            beside[1, place] += spread * np.int64(apart[0, place]) + (beside[0, place] if rank else 0)


def best_sets_at_once(pool: Pool, present: Bool[np.ndarray, "rows pool"], worth: Gains, pull: Pulls, size: int) -> Sets:
    """Return what `best_sets` returns, worked out for all rows at once."""
    columns, taken = np.moveaxis(pool, 1, 0), ~present
    gains, chosen = worth.copy(), np.full((len(pool), size), -1)
    rows = np.arange(len(pool))
    for place in range(size):
        best = np.where(taken, -TAKEN, gains).argmax(axis=1)
        found = ~taken[rows, best]
        chosen[found, place] = best[found]
        taken[rows, best] = True
        gains += np.where(found, pull, 0)[:, None] * _apart_from(columns, best)
    if size < pool.shape[2]:
        _swap_at_once(columns, taken, gains, chosen, pull)
    return _reordered(columns, worth, chosen, pull)


def _swap_at_once(columns: np.ndarray, taken: np.ndarray, gains: Gains, chosen: Sets, pull: Pulls) -> None:
    """Improve, in place, the sets that are full."""
    rows, full = np.arange(len(chosen)), (chosen >= 0).all(axis=1)
    for place in range(chosen.shape[1]):
        old = chosen[:, place]
        without = gains - pull[:, None] * _apart_from(columns, old)
        best = np.where(taken, -TAKEN, without).argmax(axis=1)
        better = full & ~taken[rows, best] & (without[rows, best] > without[rows, old])
        taken[rows[better], old[better]] = False
        taken[rows[better], best[better]] = True
        chosen[better, place] = best[better]
        gains[better] = (without + pull[:, None] * _apart_from(columns, best))[better]


def _reordered(columns: np.ndarray, worth: Gains, chosen: Sets, pull: Pulls) -> Sets:
    """Return each set in the order to read it."""
    rows, size = np.arange(len(chosen))[:, None], chosen.shape[1]
    free = np.sort(np.where(chosen >= 0, chosen, worth.shape[1]), axis=1)
    place = np.minimum(free, worth.shape[1] - 1)
    members, own = columns[:, rows, place], worth[rows, place].astype(np.int64)
    left, summed = free < worth.shape[1], np.zeros(own.shape, dtype=np.int64)
    spread = pull.astype(np.int64)[:, None] * max(size - 1, 1)
    order = np.empty_like(chosen)
    for rank in range(size):
        gain = max(rank, 1) * own + spread * summed
        best = np.where(left, gain, np.iinfo(np.int64).min).argmax(axis=1)
        order[:, rank] = np.where(left[rows[:, 0], best], free[rows[:, 0], best], -1)
        left[rows[:, 0], best] = False
        summed += _apart_from(members, best)
    return order


def _apart_from(columns: np.ndarray, place: np.ndarray) -> Int32[np.ndarray, "rows pool"]:
    """Return the number of features in which each candidate differs from the one at a place of its row's pool."""
    rows = np.arange(columns.shape[1])
    differing = np.zeros(columns.shape[1:], dtype=np.uint8 if len(columns) < 256 else np.int32)
    for column in columns:
        differing += column != column[rows, place][:, None]
    return differing.astype(np.int32)
