"""How a search goes about it: how long it looks, and what it does for proposals and rows that fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

Clock = Callable[[], bool]
"""Tells whether the time budget has ended."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to look: proposals drawn for one row, and a clock that tells when time is up.

    A row that has enough for a set, but not yet a full pool to choose it from, draws no more than `patience`. Its first
    draws are as many as it takes if the share `acceptance` of them is valid.
    """

    tries: int
    patience: int | None = None
    expired: Clock = lambda: False
    acceptance: float = 1.0

    def first_round(self, pool: int) -> int:
        """Return how many proposals a row begins with that looks for so many valid ones."""
        return min(math.ceil(pool / self.acceptance), self.tries)


@dataclass(frozen=True, slots=True)
class Manner:
    """Whether proposals get a second chance, hard rows help, and rows that get nothing a second look.

    Parameters
    ----------
    decode_again
        Whether a proposal that is not valid is tried once more with the other value.
    refine
        Whether a hard row gets a law of its own.
    doubt
        Whether the model is asked about rows that get nothing by the judgement of its twin.
    """

    decode_again: bool = False
    refine: bool = False
    doubt: bool = False
