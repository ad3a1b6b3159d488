"""The places of counterfactuals in their rows' sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Int64

from l2c.core.compiled import Compiled, compiles
from l2c.core.explanation import LINES, Released
from l2c.core.types import Mask


def ranks(row: Int64[np.ndarray, " n"]) -> Int64[np.ndarray, " n"]:
    """Return the place of each counterfactual in its row's set, from 1 on; rows stand together."""
    if compiles():
        return _counted(row)
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    return np.arange(1, len(row) + 1) - np.repeat(starts, np.diff(starts, append=len(row)))


@Compiled
def _counted(row: Int64[np.ndarray, " n"]) -> Int64[np.ndarray, " n"]:
    rank, place = np.empty(len(row), np.int64), 0
    for n in range(len(row)):
        place = place + 1 if n > 0 and row[n] == row[n - 1] else 1
        rank[n] = place
    return rank


def only(released: Released, which: Mask) -> Released:
    """Return the release with some of its counterfactuals alone, ranked anew."""
    return replace(
        released,
        rank=ranks(released.row[which]),
        measured=None if released.measured is None else released.measured.of_found(which),
        share_valid=None if released.share_valid is None else released.share_valid[which],
        **{name: getattr(released, name)[which] for name in LINES},
    )
