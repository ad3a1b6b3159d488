"""Releases whose quasi-identifiers are told in coarser levels: as a frame, and as an audit sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from l2c.adapters.frames.kinds import library_of
from l2c.core.coarse import ladder, texts
from l2c.core.explanation import Released
from l2c.core.feature import Feature
from l2c.core.layout import Layout, categorical_axis, places
from l2c.core.schema import Schema
from l2c.core.types import Levels


def told_coarsely(features: Any, released: Released) -> Any:
    """Return a frame of counterfactuals whose quasi-identifiers are the words for what they are told as."""
    kind, told = library_of(features), told_texts(released)
    return kind.frame({name: told.get(name, features[name]) for name in kind.names(features)})


def told_texts(released: Released) -> dict[str, list[str]]:
    """Return the words for each quasi-identifier of each counterfactual, by the feature's name."""
    layout, steps = released.layout, _steps(released)
    found = {}
    for place in places(layout, "quasi"):
        words = [texts(layout, int(place), merged) for merged in ladder(layout)]
        levels = released.levels[:, place].tolist()
        found[layout.schema.names[place]] = [words[step][level] for step, level in zip(steps, levels, strict=True)]
    return found


def _steps(released: Released) -> list[int]:
    coarse = np.zeros(len(released.outcomes), dtype=np.int64) if released.coarse is None else released.coarse
    steps: list[int] = coarse[released.row].tolist()
    return steps


def as_told(released: Released) -> tuple[Layout, Levels]:
    """Return the release by what it tells: a layout in which each text is a level of its own, and the levels in it."""
    layout, levels = released.layout, released.levels.copy()
    features, axes = list(layout.schema.features), list(layout.axes)
    for name, column in told_texts(released).items():
        place = layout.schema.index(name)
        words, code = np.unique(column, return_inverse=True)
        was, known = features[place], tuple(words.tolist()) or ("any",)
        told = Feature(name=name, kind="categorical", levels=known, role="quasi", label=was.label, unit=was.unit)
        features[place], axes[place] = told, categorical_axis(told)
        levels[:, place] = code
    return Layout(Schema(tuple(features)), tuple(axes)), levels
