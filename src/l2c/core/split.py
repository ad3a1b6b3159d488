"""The dev split: rows that choose a checkpoint and are not learned from."""

from __future__ import annotations

import numpy as np

from l2c.core.types import Mask

DEV_SHARE = 0.2
"""The share of the training rows that is held out, as in the paper."""


def dev_rows(count: int, seed: int) -> Mask:
    """Return which of `count` training rows are held out.

    >>> int(dev_rows(800, seed=0).sum())
    160
    """
    held_out = np.zeros(count, dtype=bool)
    held_out[np.random.default_rng(seed).permutation(count)[: int(DEV_SHARE * count)]] = True
    return held_out
