"""The inner loops of choosing a set, in whole numbers: row by row compiled, or all rows at once in numpy.

What a candidate adds to a set is its own worth plus a pull times how many features it differs in from the members,
summed over them; both are whole numbers, so that sums are exact and ties fall alike however they are reached: the
first of equals is taken.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int32, Int64, UInt8

from l2c.core.compiled import Compiled

SWAP_PASSES = 2

TAKEN = 1 << 30
"""What is taken off the gain of those that cannot be chosen, which brings it below any other's."""

ROOM = 1 << 27
"""Gains stay below this in size, so that they fit in 32 bits whatever is added and taken off."""

STRIP = 64
"""Candidates looked over at once when there may be a better one among them."""

Pool = UInt8[np.ndarray, "rows features pool"] | Int32[np.ndarray, "rows features pool"]
Gains = Int32[np.ndarray, "rows pool"]
Pulls = Int32[np.ndarray, " rows"]
Sets = Int64[np.ndarray, "rows size"]
Columns = np.ndarray
"""The candidates of one row, feature by feature."""
Row = np.ndarray
"""A number for each candidate of one row, or for each member of its set."""


@Compiled
def best_sets(pool: Pool, present: Bool[np.ndarray, "rows pool"], worth: Gains, pull: Pulls, size: int) -> Sets:
    """Return each row's set: grown one by one, then improved by swaps, then put in the order to be read."""
    rows, features, places = pool.shape
    chosen = np.full((rows, size), -1, np.int64)
    apart = np.empty(places, pool.dtype)
    tops = np.empty(-(-places // STRIP), np.int32)
    members = np.empty((features, size), pool.dtype)
    for row in range(rows):
        gains = worth[row].copy()
        for c in range(places):
            if not present[row, c]:
                gains[c] -= TAKEN
        _grow(pool[row], gains, chosen[row], pull[row], apart, tops)
        if chosen[row, -1] >= 0 and size < places:
            _swap(pool[row], gains, chosen[row], pull[row], apart, tops)
        _reorder(pool[row], worth[row], chosen[row], pull[row], members, apart)
    return chosen


@Compiled
def _grow(columns: Columns, gains: Row, chosen: Row, pull: int, apart: Row, tops: Row) -> None:
    """Fill a set one by one with the candidate that adds most, as far as there are any."""
    apart[:] = 0
    for place in range(len(chosen)):
        _add(gains, pull, apart)
        best = _highest(gains, tops)
        if gains[best] < -ROOM:
            return
        chosen[place] = best
        gains[best] -= TAKEN
        _count_apart(columns, best, apart)
    _add(gains, pull, apart)


@Compiled
def _add(gains: Row, pull: int, apart: Row) -> None:
    for c in range(len(gains)):
        gains[c] += np.int32(pull * np.int32(apart[c]))


@Compiled
def _highest(gains: Row, tops: Row) -> int:
    """Return the place of the first of the highest gains, found strip by strip."""
    for strip in range(len(tops)):
        top = gains[strip * STRIP]
        for c in range(strip * STRIP, min((strip + 1) * STRIP, len(gains))):
            top = max(top, gains[c])
        tops[strip] = top
    best = 0
    for strip in range(len(tops)):
        if tops[strip] > tops[best]:
            best = strip
    place = best * STRIP
    while gains[place] != tops[best]:
        place += 1
    return place


@Compiled
def _count_apart(columns: Columns, one: int, apart: Row) -> None:
    """Count the features in which each candidate differs from one of them."""
    apart[:] = 0
    for i in range(len(columns)):
        column, level = columns[i], columns[i, one]
        for c in range(len(column)):
            apart[c] += column[c] != level


@Compiled
def _swap(columns: Columns, gains: Row, chosen: Row, pull: int, apart: Row, tops: Row) -> None:
    """Let each member give way to the candidate that would add most in its stead, if that is more."""
    for _ in range(SWAP_PASSES):
        settled = True
        for place in range(len(chosen)):
            old = chosen[place]
            _count_apart(columns, old, apart)
            _add(gains, -pull, apart)
            best = _highest(gains, tops)
            if gains[best] > gains[old] + TAKEN:
                settled = False
                chosen[place] = best
                gains[best] -= TAKEN
                gains[old] += TAKEN
                _count_apart(columns, best, apart)
            _add(gains, pull, apart)
        if settled:
            return


@Compiled
def _reorder(columns: Columns, worth: Row, chosen: Row, pull: int, members: Columns, apart: Row) -> None:
    """Put a set in the order to read it: the best first, then each the best beside those before it."""
    count = 0
    while count < len(chosen) and chosen[count] >= 0:
        count += 1
    ordered = np.sort(chosen[:count])
    for i in range(len(columns)):
        for place in range(count):
            members[i, place] = columns[i, ordered[place]]
    own, summed = np.empty(count, np.int64), np.zeros(count, np.int64)
    for place in range(count):
        own[place] = worth[ordered[place]]
    # Beside the mean of those before, and not their sum: times the whole set's size less one, to stay whole.
    spread = np.int64(pull) * max(len(chosen) - 1, 1)
    for rank in range(count):
        best, most = -1, np.int64(0)
        for place in range(count):
            gain = max(rank, 1) * own[place] + spread * summed[place]
            if ordered[place] >= 0 and (best < 0 or gain > most):
                best, most = place, gain
        chosen[rank] = ordered[best]
        ordered[best] = -1
        _count_apart(members[:, :count], best, apart)
        for place in range(count):
            summed[place] += apart[place]


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
    for _ in range(SWAP_PASSES):
        before = chosen.copy()
        for place in range(chosen.shape[1]):
            old = chosen[:, place]
            without = gains - pull[:, None] * _apart_from(columns, old)
            best = np.where(taken, -TAKEN, without).argmax(axis=1)
            better = full & ~taken[rows, best] & (without[rows, best] > without[rows, old])
            taken[rows[better], old[better]] = False
            taken[rows[better], best[better]] = True
            chosen[better, place] = best[better]
            gains[better] = (without + pull[:, None] * _apart_from(columns, best))[better]
        if (before == chosen).all():
            break


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
