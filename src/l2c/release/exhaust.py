"""All that a row has room for, where that is little enough to try every combination."""

from __future__ import annotations

import numpy as np

from l2c.core.layout import Layout
from l2c.core.room import Room
from l2c.core.types import Levels

ENUMERABLE = 20_000
"""The most combinations that are tried one and all instead of being drawn."""


def every_proposal(layout: Layout, room: Room, row: int, own: Levels) -> Levels:
    """Return every combination of levels that one row has room for: combinations × features."""
    found, changed = own[None, :].copy(), np.zeros(1, dtype=np.int64)
    for i, (start, size) in enumerate(zip(layout.offsets, layout.sizes, strict=True)):
        choices = np.flatnonzero(room.open[row, start : start + size]).astype(np.int16)
        found, changed = np.repeat(found, len(choices), axis=0), np.repeat(changed, len(choices))
        found[:, i] = np.tile(choices, len(found) // max(len(choices), 1))
        changed += found[:, i] != own[i]
        few = changed <= room.changes[row]
        found, changed = found[few], changed[few]
    return found
