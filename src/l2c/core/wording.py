"""What a release tells in words instead of values: intervals of numbers, coarser levels of quasi-identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int16, Int64

from l2c.core.coarse import ladder, texts
from l2c.core.explanation import Released
from l2c.core.feature import Feature
from l2c.core.layout import Layout, categorical_axis, interval_texts, places
from l2c.core.schema import Schema
from l2c.core.types import Levels


@dataclass(frozen=True, slots=True, eq=False)
class Wording:
    """The words for the levels of those features that a release does not tell by value.

    Parameters
    ----------
    words
        By the feature's name the words for each of its levels, at each step of the ladder of coarser levels.
    steps
        The step at which each input row, and what was found for it, is told.
    """

    words: Mapping[str, Sequence[Sequence[str]]]
    steps: Int64[np.ndarray, " rows"]

    @classmethod
    def of(cls, released: Released, *, intervals: bool = False) -> Wording:
        """Return the words of a release; with `intervals`, numbers are told by their bins in any case."""
        layout, rungs, private = released.layout, ladder(released.layout), released.share_valid is not None
        words: dict[str, list[list[str]]] = {}
        for place in np.flatnonzero(layout.numeric).tolist() if private or intervals else ():
            axis = layout.axes[place]
            told = interval_texts(axis) if private else (layout.text(place, level) for level in range(axis.size))
            words[layout.schema.names[place]] = [list(told)] * len(rungs)
        for place in places(layout, "quasi").tolist() if released.coarse is not None else ():
            words[layout.schema.names[place]] = [texts(layout, place, merged) for merged in rungs]
        coarse = np.zeros(len(released.outcomes), dtype=np.int64) if released.coarse is None else released.coarse
        return cls(words, coarse)

    def of_levels(self, name: str, row: Int64[np.ndarray, " n"], levels: Int16[np.ndarray, " n"]) -> list[str]:
        """Return the words for levels of a feature, each for an input row or something found for it."""
        told = zip(self.steps[row].tolist(), levels.tolist(), strict=True)
        return [self.words[name][step][level] for step, level in told]


def by_words(released: Released) -> tuple[Layout, Levels]:
    """Return a release by what it tells of quasi-identifiers: each text a level of its own, as an attacker sees it."""
    layout, levels, wording = released.layout, released.levels.copy(), Wording.of(released)
    features, axes = list(layout.schema.features), list(layout.axes)
    for place in places(layout, "quasi").tolist():
        was = features[place]
        words, code = np.unique(wording.of_levels(was.name, released.row, levels[:, place]), return_inverse=True)
        known = tuple(words.tolist()) or ("any",)
        told = Feature(name=was.name, kind="categorical", levels=known, role="quasi", label=was.label, unit=was.unit)
        features[place], axes[place] = told, categorical_axis(told)
        levels[:, place] = code
    return Layout(Schema(tuple(features)), tuple(axes)), levels
