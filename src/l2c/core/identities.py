"""Rows as numbers: equal rows get equal numbers, so that they can be counted, looked up and told apart."""

from __future__ import annotations

from collections.abc import Iterable

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
