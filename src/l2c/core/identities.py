"""Rows as numbers: equal rows get equal numbers, so that they can be counted, looked up and told apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Int64, Shaped

_LARGEST_NUMBER = 2**62


def identities(columns: Iterable[Shaped[np.ndarray, " rows"]]) -> Int64[np.ndarray, " rows"]:
    """A number for each row of a table, the same for equal rows only, in the order of the rows.

    Missing equals missing, and comes last.

    Examples
    --------
    >>> identities([np.array([2.0, 1.0, 2.0, np.nan, np.nan]), np.array([0, 1, 0, 5, 5])])
    array([3, 1, 3, 8, 8])
    """
    number, bound = np.zeros(1, dtype=np.int64), 1
    for column in columns:
        values, code = np.unique(column, return_inverse=True)
        if bound > _LARGEST_NUMBER // max(len(values), 1):
            kept, number = np.unique(number, return_inverse=True)
            bound = len(kept)
        number = number * len(values) + code
        bound *= len(values)
    return number


def equal_among(
    rows: Sequence[Shaped[np.ndarray, " rows"]], others: Sequence[Shaped[np.ndarray, " others"]]
) -> Int64[np.ndarray, " rows"]:
    """How many rows of another table with the same columns equal each row of a table; missing equals missing.

    Examples
    --------
    >>> equal_among([np.array([1.0, 2.0]), np.array([np.nan, 0.0])], [np.array([1.0, 1.0]), np.array([np.nan, np.nan])])
    array([2, 0])
    """
    keys = identities([np.concatenate(pair) for pair in zip(rows, others, strict=True)])
    own, theirs = keys[: len(rows[0])], np.sort(keys[len(rows[0]) :])
    return np.searchsorted(theirs, own, side="right") - np.searchsorted(theirs, own, side="left")


def distinct(
    of: Int64[np.ndarray, " rows"], values: Int64[np.ndarray, " rows"], count: int
) -> Int64[np.ndarray, " classes"]:
    """The number of different values in each of `count` classes, for values from 0 on.

    Examples
    --------
    >>> distinct(np.array([0, 0, 0, 1]), np.array([5, 5, 2, 5]), count=2)
    array([2, 1])
    """
    bound = int(values.max(initial=0)) + 1
    pairs = np.sort(of * bound + values)  # np.unique would hash them, ten times slower
    new = np.diff(pairs, prepend=-1) > 0
    return np.bincount(pairs[new] // bound, minlength=count)
