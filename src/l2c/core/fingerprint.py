"""How a model is recognised again: by its answers to rows that belong to nobody.

The rows are drawn from the layout alone, so that no person's data is needed to ask, or kept to compare.
"""

from __future__ import annotations

import numpy as np

from l2c.core.blackbox import BlackBox
from l2c.core.layout import Layout
from l2c.core.streams import Streams
from l2c.core.types import Cells, Probabilities

PROBES = 64
TOLERANCE = 1e-4
"""The same network may answer this differently on another processor; another model hardly answers so alike."""


def probe_rows(layout: Layout) -> Cells:
    """Return rows with every feature at a level drawn at random, the same for the same layout."""
    numbered = np.arange(PROBES, dtype=np.float64)[:, None]
    words = Streams.for_rows(numbered, seed=0).draws(np.zeros(PROBES, np.int64), 1, each=len(layout.axes))
    known = np.array([axis.known for axis in layout.axes], dtype=np.uint32)
    return layout.values((words[:, 0, :] % known).astype(np.int16), "median")


def fingerprint(blackbox: BlackBox, layout: Layout) -> Probabilities:
    """Return a model's answers to the probe rows."""
    return blackbox.proba(probe_rows(layout))


def same_model(expected: Probabilities, answers: Probabilities) -> bool:
    """Return whether two fingerprints are of one model.

    >>> same_model(np.array([[0.3, 0.7]]), np.array([[0.4, 0.6]]))
    False
    """
    return expected.shape == answers.shape and bool(np.abs(expected - answers).max() <= TOLERANCE)
