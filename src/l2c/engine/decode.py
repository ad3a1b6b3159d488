"""From drawn levels back to values in the user's units (equation 4, from the bins' own edges)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.compiled import Compiled, compiles
from l2c.core.layout import Layout
from l2c.core.types import Cells, Levels, Mask


def decode_levels(
    layout: Layout, levels: Levels, values: Float64[np.ndarray, "rows width"], row: Int64[np.ndarray, " n"]
) -> Cells:
    """Return the values of proposals, from what each level stands for in the row that a proposal is for.

    The paper's formula assumes bins of equal width while its bins are of equal frequency; the value here stands for
    the bin itself. A feature whose level did not change keeps the person's own value, which `values` holds there.
    """
    if compiles():
        return _looked_up(levels, layout.offsets, values, row)
    return values[row[:, None], levels + layout.offsets]


def decode_either(
    layout: Layout,
    levels: Levels,
    values: Float64[np.ndarray, "rows width"],
    others: Float64[np.ndarray, "rows width"],
    row: Int64[np.ndarray, " n"],
    second: Mask,
) -> Cells:
    """Return the values of proposals, for some of them the second choice of values."""
    if compiles():
        return _either_looked_up(levels, layout.offsets, values, others, row, second)
    cells = decode_levels(layout, levels, values, row)
    cells[second] = decode_levels(layout, levels[second], others, row[second])
    return cells


@Compiled
def _either_looked_up(
    levels: Levels,
    offsets: Int64[np.ndarray, " features"],
    values: Float64[np.ndarray, "rows width"],
    others: Float64[np.ndarray, "rows width"],
    row: Int64[np.ndarray, " n"],
    second: Mask,
) -> Cells:
    cells, width = np.empty(levels.shape), values.shape[1]
    first, other = values.reshape(-1), others.reshape(-1)
    # One place in a long line, which cannot be negative, is looked up without being tested for it.
    for n in range(len(row)):
        start, source = row[n] * width, other if second[n] else first
        for i in range(len(offsets)):
            cells[n, i] = source[np.uint64(start + offsets[i] + levels[n, i])]
    return cells


@Compiled
def _looked_up(
    levels: Levels,
    offsets: Int64[np.ndarray, " features"],
    values: Float64[np.ndarray, "rows width"],
    row: Int64[np.ndarray, " n"],
) -> Cells:
    cells, width, first = np.empty(levels.shape), values.shape[1], values.reshape(-1)
    for n in range(len(row)):
        start = row[n] * width
        for i in range(len(offsets)):
            cells[n, i] = first[np.uint64(start + offsets[i] + levels[n, i])]
    return cells
