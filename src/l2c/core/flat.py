"""Numbers and truths over the flat axis, a line for each row: what there is at its levels, and how many by feature."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float64, Int64

from l2c.core.compiled import Compiled, compiles
from l2c.core.layout import Layout
from l2c.core.types import Cells, Levels

Truths = Bool[np.ndarray, "rows width"]
Numbers = Float64[np.ndarray, "rows width"]
Features = Int64[np.ndarray, " features"]


def counted(layout: Layout, flat: Truths) -> Int64[np.ndarray, "rows features"]:
    """Return at how many places of each feature something is true."""
    if compiles():
        return _counted(flat, layout.offsets, layout.sizes)
    return np.add.reduceat(flat, layout.offsets, axis=1, dtype=np.int64)


def at_levels(layout: Layout, flat: Truths, levels: Levels) -> Bool[np.ndarray, "rows features"]:
    """Return what is true at each feature's level."""
    if compiles():
        return _at(flat, levels, layout.offsets)
    return np.take_along_axis(flat, levels + layout.offsets, axis=1)


def put_at_levels(layout: Layout, flat: Numbers, levels: Levels, cells: Cells) -> None:
    """Write a number at each feature's level."""
    if compiles():
        _put_at(flat, levels, layout.offsets, cells)
    else:
        np.put_along_axis(flat, levels + layout.offsets, cells, axis=1)


def spread(layout: Layout, stand_ins: Float64[np.ndarray, " width"], levels: Levels, cells: Cells) -> Numbers:
    """Return the same numbers for every row, but at each feature's level the row's own cell."""
    if compiles():
        return _spread(stand_ins, levels, layout.offsets, cells)
    flat = np.repeat(stand_ins[None, :], len(cells), axis=0)
    np.put_along_axis(flat, levels + layout.offsets, cells, axis=1)
    return flat


def differing(numbers: Numbers, others: Numbers) -> Truths:
    """Return where two numbers are not the same; NaN is the same as NaN."""
    if compiles():
        return _differing(numbers, others)
    return (numbers != others) & ~(np.isnan(numbers) & np.isnan(others))


# A place that cannot be negative is looked up without being tested for it.


@Compiled
def _counted(flat: Truths, offsets: Features, sizes: Features) -> Int64[np.ndarray, "rows features"]:
    counts = np.empty((len(flat), len(sizes)), np.int64)
    for row in range(len(flat)):
        for i in range(len(sizes)):
            total = 0
            for place in range(offsets[i], offsets[i] + sizes[i]):
                total += flat[row, np.uint64(place)]
            counts[row, i] = total
    return counts


@Compiled
def _at(flat: Truths, levels: Levels, offsets: Features) -> Bool[np.ndarray, "rows features"]:
    there = np.empty(levels.shape, np.bool_)
    for row in range(len(levels)):
        for i in range(len(offsets)):
            there[row, i] = flat[row, np.uint64(offsets[i] + levels[row, i])]
    return there


@Compiled
def _put_at(flat: Numbers, levels: Levels, offsets: Features, cells: Cells) -> None:
    for row in range(len(levels)):
        for i in range(len(offsets)):
            flat[row, np.uint64(offsets[i] + levels[row, i])] = cells[row, i]


@Compiled
def _spread(stand_ins: Float64[np.ndarray, " width"], levels: Levels, offsets: Features, cells: Cells) -> Numbers:
    flat = np.empty((len(levels), len(stand_ins)))
    for row in range(len(levels)):
        flat[row] = stand_ins
        for i in range(len(offsets)):
            flat[row, np.uint64(offsets[i] + levels[row, i])] = cells[row, i]
    return flat


@Compiled
def _differing(numbers: Numbers, others: Numbers) -> Truths:
    apart = np.empty(numbers.shape, np.bool_)
    for row in range(len(numbers)):
        for place in range(numbers.shape[1]):
            one, other = numbers[row, place], others[row, place]
            apart[row, place] = (one != other) & ~(np.isnan(one) & np.isnan(other))
    return apart
