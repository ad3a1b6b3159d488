"""Seeing into a model, where that is possible: as a sum over the features, or as the trees that it is.

Nothing that is seen is taken on trust. Which input of a tree depends on which feature is measured, by changing one
feature of one row at a time, and a view is used only if it then agrees with the model, on the rows that it was measured
on and on rows whose features were mixed at random, as those of counterfactuals are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from l2c.adapters.models.additive import CHECKED_ROWS, additive_twin
from l2c.adapters.models.estimators import taken_by
from l2c.adapters.models.frame_model import FrameModel
from l2c.adapters.models.packages import packages_of
from l2c.adapters.models.trees import Grown, grown
from l2c.core.blackbox import BlackBox
from l2c.core.layout import Layout
from l2c.core.sight import TOLERANCE, Additive, Trees, View, agrees
from l2c.core.types import Cells
from l2c.errors import ModelError

MOST_LEAVES = 20_000
"""Beyond so many leaves in all, no question about every combination would be answered in time."""

MOST_PROBES = 50
"""Values of a feature that are tried to find out which inputs depend on it, besides its levels."""

MEASURED = 1e-9
"""How far a measured score may be off: the log-odds of a probability lose a few digits."""


def see_into(blackbox: BlackBox, model: object, layout: Layout, rows: Cells) -> View | None:
    """Return the model as a sum of parts that depend on levels, or None if it cannot be seen so.

    Parameters
    ----------
    model
        What the black box was made of: for trees, a fitted scikit-learn estimator, or a pipeline that ends in one and
        before it works column by column.
    rows
        Rows on which the view is measured and checked.
    """
    if not len(rows):
        return None
    model, gaps, rows = getattr(model, "best_estimator_", model), np.isnan(rows).any(axis=0), _mixed_with(layout, rows)
    try:
        read = grown(last_step(model))
        if read is None:
            view: View | None = _additive(blackbox, layout, rows, gaps)
        else:
            view = _trees(blackbox, model, read, layout, rows, gaps) if isinstance(blackbox, FrameModel) else None
        return view if view is not None and agrees(view, rows, blackbox.proba(rows)).all() else None
    except ModelError:
        # A model that cannot be asked about every level is not known at every level.
        return None


def last_step(model: Any) -> Any:
    """Return the estimator that a pipeline ends in, or the model itself."""
    return model[-1] if _is_pipeline(model) else model


def _is_pipeline(model: Any) -> bool:
    return hasattr(model, "steps") and hasattr(model, "__getitem__")


def _mixed_with(layout: Layout, rows: Cells) -> Cells:
    """Return some of the rows, rows mixed from their values, and rows at levels drawn at random."""
    generator = np.random.default_rng(0)
    half, features = CHECKED_ROWS // 2, np.arange(rows.shape[1])
    mixed = rows[generator.integers(0, len(rows), (half, len(features))), features]
    levels = generator.integers(0, [axis.known for axis in layout.axes], (half, len(features))).astype(np.int16)
    return np.concatenate([rows[:CHECKED_ROWS], mixed, layout.values(levels, "median")])


def _additive(blackbox: BlackBox, layout: Layout, rows: Cells, gaps: Bool[np.ndarray, " features"]) -> Additive | None:
    twin = None if getattr(blackbox, "labels_only", False) else additive_twin(blackbox, layout, rows)
    if twin is None:
        return None
    # Where two of K classes are level at the top, each has at least 1 / K, so probabilities that are off by no more
    # than the tolerance move a difference of log-odds by at most about 2 K of it; twice that is safe.
    slack = 4 * len(blackbox.classes) * TOLERANCE
    return Additive(layout, twin.intercept, twin.slopes, twin.entries, gaps, slack)


def _trees(
    blackbox: FrameModel, model: Any, read: Grown, layout: Layout, rows: Cells, gaps: Bool[np.ndarray, " features"]
) -> Trees | None:
    if read.forest.leaves > MOST_LEAVES:
        return None

    def transformed(cells: Cells) -> Float64[np.ndarray, "rows columns"]:
        inputs = transformed_by(model, read, blackbox, cells)
        return inputs.astype(np.float32).astype(np.float64) if read.single else inputs

    person = rows[(~np.isnan(rows).any(axis=1)).argmax()]
    probes, features = probes_of(layout, rows, person)
    owner = owners_of(features, transformed(np.vstack([person[None, :], probes])))
    if owner is None:
        return None

    def inputs(
        features: Int64[np.ndarray, " n"], values: Float64[np.ndarray, " n"]
    ) -> Float64[np.ndarray, "n columns"]:
        changed = np.tile(person, (len(features), 1))
        changed[np.arange(len(features)), features] = values
        return transformed(changed)

    nothing = np.zeros(read.forest.value.shape[1])
    view = Trees(layout, read.forest, nothing, read.link, owner, inputs, gaps)
    if not np.allclose(view.assembled(rows), transformed(rows), rtol=1e-9, atol=1e-12, equal_nan=True):
        return None
    return view if read.link == "mean" else _with_base(view, blackbox, rows)


def owners_of(
    features: Int64[np.ndarray, " probes"], answers: Float64[np.ndarray, "probes_and_one columns"]
) -> Int64[np.ndarray, " columns"] | None:
    """Return the feature that each input depends on, -1 for none; or None if an input depends on several.

    Parameters
    ----------
    features
        Which feature of one person each probe changes.
    answers
        The inputs of the person, and then those of the probes.
    """
    moved = (answers[1:] != answers[0]) & ~(np.isnan(answers[1:]) & np.isnan(answers[0]))
    depends = np.zeros((1 + features.max(), answers.shape[1]), dtype=bool)
    np.logical_or.at(depends, features, moved)
    if (depends.sum(axis=0) > 1).any():
        return None
    return np.where(depends.any(axis=0), depends.argmax(axis=0), -1)


def probes_of(layout: Layout, rows: Cells, person: Cells) -> tuple[Cells, Int64[np.ndarray, " probes"]]:
    """Return one person with one feature changed at a time, and which feature it is."""
    values = layout.representatives("median")
    probes: list[Cells] = []
    features: list[int] = []
    for i, (start, axis) in enumerate(zip(layout.offsets, layout.axes, strict=True)):
        seen = np.unique(rows[:, i])
        spread = seen[np.linspace(0, len(seen) - 1, min(len(seen), MOST_PROBES)).astype(np.int64)]
        for value in (*values[start : start + axis.known], *spread):
            probes.append(np.where(np.arange(len(person)) == i, value, person))
            features.append(i)
    return np.array(probes), np.array(features)


def transformed_by(model: Any, read: Grown, blackbox: FrameModel, cells: Cells) -> Float64[np.ndarray, "rows columns"]:
    """Return the matrix that a tree model's trees are asked with, before anything is rounded."""
    try:
        frame = blackbox.shape.build(cells)
        if _is_pipeline(model):
            return read.prepared(model[:-1].transform(taken_by(model)(frame)))
        # Boosters find their columns by themselves.
        return read.prepared(frame if packages_of(model) & {"xgboost", "lightgbm"} else taken_by(model)(frame))
    except Exception as error:
        raise ModelError(f"the model's steps raised {type(error).__name__}: {error}") from error


def _with_base(view: Trees, blackbox: BlackBox, rows: Cells) -> Trees:
    """Return the view with what its sum starts from: what the trees do not explain of the least decided row."""
    answers = blackbox.proba(rows)
    least = answers.max(axis=1).argmin()
    odds = np.log(np.clip(answers[least], 1e-300, None))
    trees = view.scores(rows[least : least + 1])[0]
    base = odds - odds[0] - (trees - trees[0])
    return replace(view, base=base, slack=MEASURED)
