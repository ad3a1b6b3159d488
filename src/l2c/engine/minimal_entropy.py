"""Fayyad and Irani's cuts: the least class entropy, stopped by minimum description length.

U. Fayyad and K. Irani, "Multi-interval discretization of continuous-valued attributes for classification
learning", IJCAI 1993. With N rows S of k classes, parted by a cut into S1 (k1 classes) and S2 (k2 classes):

    Gain = Ent(S) − |S1|/N · Ent(S1) − |S2|/N · Ent(S2)
    Δ    = log2(3^k − 2) − [k · Ent(S) − k1 · Ent(S1) − k2 · Ent(S2)]

the cut with the largest gain is accepted when Gain > (log2(N − 1) + Δ) / N, and both parts are then cut in turn.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float64, Int64

_TIE = 1e-12
"""Entropies closer than this are equal: rounding shall not choose between two cuts."""

Tally = Int64[np.ndarray, "distinct classes"]
"""How many rows of each class hold each distinct value, in rising order of the values."""


def minimal_entropy_cuts(
    values: Float64[np.ndarray, " rows"], classes: Int64[np.ndarray, " rows"]
) -> tuple[float, ...]:
    """Return the accepted cuts of one column without missing values, rising; none if no cut pays.

    >>> minimal_entropy_cuts(np.arange(20.0), np.repeat([0, 1], 10))
    (9.5,)
    >>> minimal_entropy_cuts(np.arange(20.0), np.tile([0, 1], 10))
    ()
    """
    distinct, place = np.unique(values, return_inverse=True)
    width = int(classes.max()) + 1
    tally = np.bincount(place * width + classes, minlength=len(distinct) * width).reshape(-1, width)
    return tuple(gaps(distinct)[_splits(tally)].tolist())


def gaps(distinct: Float64[np.ndarray, " distinct"]) -> Float64[np.ndarray, " gaps"]:
    """Return the cut in each gap between neighbouring values: the middle, at or above the lower, below the upper.

    >>> gaps(np.array([1.0, 2.0, 5.0]))
    array([1.5, 3.5])
    """
    lower, upper = distinct[:-1], distinct[1:]
    middle = np.maximum(lower / 2 + upper / 2, lower)
    # Between two neighbouring floats the middle is rounded, perhaps up to the upper one.
    return np.where(middle < upper, middle, lower)


def _splits(tally: Tally) -> list[int]:
    """Return the gaps in which a cut is accepted, rising."""
    accepted: list[int] = []
    # A list of open intervals instead of a recursion: cuts that peel off one end may nest thousands deep.
    pending = [(0, len(tally))]
    while pending:
        start, stop = pending.pop()
        split = _best_split(tally[start:stop])
        if split is not None:
            accepted.append(start + split - 1)
            pending += [(start, start + split), (start + split, stop)]
    return sorted(accepted)


def _best_split(tally: Tally) -> int | None:
    """Return how many distinct values the accepted cut leaves below it, or None if it does not pay."""
    if len(tally) < 2:
        return None
    total = tally.sum(axis=0)
    below = tally.cumsum(axis=0)[:-1]
    above = total - below
    share = below.sum(axis=1) / total.sum()
    left_over = share * _entropy(below) + (1 - share) * _entropy(above)
    best = int(np.argmax(left_over <= left_over.min() + _TIE))
    return best + 1 if _pays(total, below[best], above[best]) else None


def _pays(
    total: Int64[np.ndarray, " classes"],
    below: Int64[np.ndarray, " classes"],
    above: Int64[np.ndarray, " classes"],
) -> bool:
    """Return whether a cut shortens the description of the classes."""
    rows = int(total.sum())
    parts = np.stack([total, below, above])
    entropy = _entropy(parts)
    gain = entropy[0] - (parts.sum(axis=1)[1:] @ entropy[1:]) / rows
    present = np.count_nonzero(parts, axis=1)
    bits = present * entropy
    delta = math.log2(3 ** int(present[0]) - 2) - (bits[0] - bits[1] - bits[2])
    return bool(gain > (math.log2(rows - 1) + delta) / rows)


def _entropy(counts: Int64[np.ndarray, "sets classes"]) -> Float64[np.ndarray, " sets"]:
    """Return the class entropy of each set of rows, in bits."""
    share = counts / counts.sum(axis=1, keepdims=True)
    return -np.sum(share * np.log2(np.where(share > 0, share, 1)), axis=1)
