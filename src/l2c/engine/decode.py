"""From drawn levels back to values in the user's units (equation 4, from the bins' own edges)."""

from __future__ import annotations

import numpy as np

from l2c.core.layout import Decode, Layout
from l2c.core.types import Cells, Levels


def decode_levels(
    layout: Layout, levels: Levels, cells: Cells, own: Levels, decode: Decode, *, other: bool = False
) -> Cells:
    """Return the values of proposals; a feature whose level did not change keeps the person's own value.

    The paper's formula assumes bins of equal width while its bins are of equal frequency; the value here stands
    for the bin itself. Axes before the features broadcast.
    """
    return np.where(levels == own, cells, layout.values(levels, decode, other=other))
