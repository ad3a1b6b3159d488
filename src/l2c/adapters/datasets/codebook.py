"""Code books: what the numbers in a publisher's file stand for."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

Codebook = Mapping[str, Mapping[int, str]]
"""The words for each code of each coded column, written in the order in which the levels rise."""


def decoded(codes: pd.DataFrame, book: Codebook) -> pd.DataFrame:
    """Return the rows in words; columns that the book does not mention stay as they are.

    >>> decoded(pd.DataFrame({"job": [2, 1], "age": [30, 40]}), {"job": {1: "clerk", 2: "nurse"}})
         job  age
    0  nurse   30
    1  clerk   40
    """
    return codes.assign(**{name: codes[name].map(words) for name, words in book.items()})


def levels(words: Mapping[int, str]) -> tuple[str, ...]:
    """Return the distinct words in the order of the book.

    >>> levels({4: "low", 2: "high", 1: "high"})
    ('low', 'high')
    """
    return tuple(dict.fromkeys(words.values()))
