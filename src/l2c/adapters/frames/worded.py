"""Frames of counterfactuals in which some features are told in words."""

from __future__ import annotations

from typing import Any

from l2c.adapters.frames.kinds import library_of
from l2c.core.explanation import Released
from l2c.core.wording import Wording


def in_words(features: Any, released: Released, *, intervals: bool = False) -> Any:
    """Return a frame of the features of counterfactuals as the release tells them: in words, or as they are.

    Parameters
    ----------
    features
        The counterfactuals, by value.
    intervals
        Whether numbers are told by their bins in any case.
    """
    kind, layout, wording = library_of(features), released.layout, Wording.of(released, intervals=intervals)
    if not wording.words:
        return features
    columns = {}
    for name in kind.names(features):
        levels = released.levels[:, layout.schema.index(name)]
        columns[name] = wording.of_levels(name, released.row, levels) if name in wording.words else features[name]
    return kind.frame(columns)
