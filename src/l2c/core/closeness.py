"""How far the sensitive values of a class of people are from those of the table that it stands in: t-closeness."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

PerSample = Int64[np.ndarray, " samples"]
Distributions = Float64[np.ndarray, "classes levels"]

TIE = 1e-9
"""A distance that exceeds what is allowed by no more equals it, but for rounding."""

_BLOCK = 65_536
"""How many classes have their distributions in memory at a time."""


def class_distances(
    of: PerSample,
    table: Int64[np.ndarray, " classes"],
    levels: PerSample,
    *,
    known: int,
    size: int,
    ordered: bool,
) -> Float64[np.ndarray, " classes"]:
    """Return the earth mover's distance between each class's distribution of a feature and that of its table.

    It goes from 0 (alike) to 1. Between levels in an order the ground distance is the number of steps in units of the
    whole way; between levels without one it is 1, and then the earth mover's distance is half the sum of the absolute
    differences. "Missing" has no place in an order: it is 1 away from every level. What is missing on one side only
    is taken from all levels in proportion, which may not be the cheapest way to move it: never stated too low.

    Parameters
    ----------
    of, table
        The class of each sample, and the table of each class, both counted from 0 without a gap.
    levels
        The feature's level of each sample.
    known, size
        The number of levels that stand for a value, and of all; where they differ, the last one is "missing".
    ordered
        Whether the levels are in an order.
    """
    order = np.argsort(of, kind="stable")
    of, levels = of[order], levels[order].astype(np.int64)
    tables = int(table.max(initial=-1)) + 1
    wholes = _distributions(table[of], levels, tables, size)
    apart = np.empty(len(table))
    for start in range(0, len(apart), _BLOCK):
        stop = min(start + _BLOCK, len(apart))
        here = slice(*np.searchsorted(of, [start, stop]))
        parts = _distributions(of[here] - start, levels[here], stop - start, size)
        whole = wholes[table[start:stop]]
        apart[start:stop] = _ordered_distance(parts, whole, known) if ordered else np.abs(parts - whole).sum(axis=1) / 2
    return apart


def _distributions(
    of: Int64[np.ndarray, " samples"], levels: Int64[np.ndarray, " samples"], count: int, size: int
) -> Distributions:
    counts = np.bincount(of * size + levels, minlength=count * size).reshape(count, size)
    return counts / counts.sum(axis=1, keepdims=True)


def _ordered_distance(a: Distributions, b: Distributions, known: int) -> Float64[np.ndarray, " classes"]:
    a, b = a[:, :known], b[:, :known]
    held_a, held_b = (one.sum(axis=1, keepdims=True) for one in (a, b))
    both = np.minimum(held_a, held_b)
    # Where one side is missing altogether nothing is left to move along the order.
    a, b = (one * both / np.where(held > 0, held, 1) for one, held in ((a, held_a), (b, held_b)))
    along = np.abs(np.cumsum(a - b, axis=1)).sum(axis=1) / max(known - 1, 1)
    return np.asarray(along + np.abs(held_a - held_b)[:, 0])
