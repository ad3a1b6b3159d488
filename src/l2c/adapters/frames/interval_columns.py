"""Frames whose numbers are told by their intervals."""

from __future__ import annotations

from typing import Any

from l2c.adapters.frames.kinds import library_of
from l2c.core.layout import Layout, interval_texts
from l2c.core.types import Levels


def in_words(features: Any, layout: Layout, levels: Levels) -> Any:
    """Return a frame of features with every number as the text of its interval, the other columns as they are.

    Parameters
    ----------
    features
        The rows as a frame.
    levels
        The same rows by level.
    """
    kind = library_of(features)
    columns = {}
    for name in kind.names(features):
        place = layout.schema.index(name)
        if layout.schema[name].numeric:
            texts = list(interval_texts(layout.axes[place]))
            columns[name] = [texts[level] for level in levels[:, place].tolist()]
        else:
            columns[name] = features[name]
    return kind.frame(columns)
