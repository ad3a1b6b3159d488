"""Small releases to measure: written out by hand, or at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np
from hypothesis import strategies as st

from l2c.core.explanation import Outcome, Released, Status
from l2c.core.feature import Feature, Moves
from l2c.core.goal import Goal
from l2c.core.layout import Axis, Layout, categorical_axis
from l2c.core.rules import Implies
from l2c.core.schema import Schema
from l2c.core.types import Cells

nan = np.nan


def layout_of(*features: Feature, rules: Sequence[Implies] = ()) -> Layout:
    """Return a layout whose numeric features are cut at 30 and 45."""
    numeric = Axis((30.0, 45.0), None, None, (25.0, 40.0, 60.0), (28.0, 38.0, 50.0), missing=True)
    axes = tuple(numeric if feature.numeric else categorical_axis(feature) for feature in features)
    return Layout(Schema(features, rules=tuple(rules)), axes)


def release_of(
    layout: Layout,
    factual: Sequence[Sequence[float]] | Cells,
    sets: Sequence[Sequence[Sequence[float]] | Cells],
    *,
    asked: int,
    invalid: Sequence[int] = (),
    statuses: Sequence[Status] | None = None,
    desired: Sequence[int] | None = None,
    tries: Sequence[int] | None = None,
) -> Released:
    """Return the release of these sets, one for each factual; `invalid` are places in the long table."""
    inputs, features = len(sets), len(layout.axes)
    statuses = statuses or ["found"] * inputs
    tries = tries or [len(found) for found in sets]
    row = np.array([i for i, found in enumerate(sets) for _ in found], dtype=np.int64)
    cells = np.array([one for found in sets for one in found], dtype=float).reshape(-1, features)
    valid = np.ones(len(row), dtype=bool)
    valid[list(invalid)] = False
    wanted = np.array([1] * inputs if desired is None else desired, dtype=np.int64)
    before = np.array(factual, dtype=float).reshape(-1, features)
    return Released(
        layout=layout,
        classes=("no", "yes", "perhaps"),
        asked=asked,
        factual=before,
        current=np.zeros(inputs, dtype=np.int64),
        desired=wanted,
        goal=Goal.of_classes(wanted, 3),
        outcomes=tuple(
            Outcome(status, "", len(found), judged) for status, found, judged in zip(statuses, sets, tries, strict=True)
        ),
        row=row,
        rank=np.array([rank + 1 for found in sets for rank, _ in enumerate(found)], dtype=np.int64),
        levels=layout.levels(cells),
        cells=cells,
        chance=np.where(valid, 0.9, 0.1),
        predicted=wanted[row],
        valid=valid,
    )


def random_layout(rng: np.random.Generator) -> Layout:
    """Return a layout with every kind of feature, directions and rules at random."""
    moves = [get_args(Moves)[i] for i in rng.integers(4, size=3)]
    features = (
        Feature(name="age", kind="numeric", moves="rises" if rng.random() < 0.5 else "both", missing=True),
        Feature(name="hours", kind="numeric", moves=moves[0], missing=True),
        Feature(name="job", kind="categorical", levels=("a", "b", "c"), missing=True),
        Feature(name="school", kind="ordinal", levels=(1, 2, 3, 4), moves=moves[1], missing=True),
        Feature(name="owner", kind="binary", levels=("no", "yes"), moves=moves[2]),
    )
    rules = [Implies("school", "age"), Implies("hours", "age")][: rng.integers(3)]
    return layout_of(*features, rules=rules)


def random_cells(rng: np.random.Generator, layout: Layout, rows: int) -> Cells:
    """Return rows with few different values, some of them missing."""
    columns = []
    for feature in layout.schema.features:
        values = np.array([22.0, 29.5, 30.0, 41.0, 47.0] if feature.numeric else range(len(feature.levels)))
        gone = (rng.random(rows) < 0.15) & feature.missing
        columns.append(np.where(gone, nan, rng.choice(values, rows)))
    return np.stack(columns, axis=1)


def random_release(seed: int, inputs: int, asked: int) -> Released:
    """Return a release in which every input has any outcome and up to `asked` counterfactuals, some twice."""
    rng = np.random.default_rng(seed)
    layout = random_layout(rng)
    factual = random_cells(rng, layout, inputs)
    sets = []
    for one in factual:
        proposed = random_cells(rng, layout, int(rng.integers(asked + 1)))
        mixed = np.where(rng.random(proposed.shape) < 0.5, one, proposed)
        sets.append(mixed[rng.integers(max(len(mixed), 1), size=len(mixed))])
    released = release_of(
        layout,
        factual,
        sets,
        asked=asked,
        invalid=np.flatnonzero(rng.random(sum(map(len, sets))) < 0.3).tolist(),
        statuses=[get_args(Status)[i] for i in rng.integers(7, size=inputs)],
        desired=rng.integers(3, size=inputs).tolist(),
        tries=rng.integers(20, size=inputs).tolist(),
    )
    return shuffled(released, rng)


def shuffled(released: Released, rng: np.random.Generator) -> Released:
    """Return the same release with its long table in another order."""
    order = rng.permutation(len(released.row))
    fields = {name: getattr(released, name) for name in Released.__dataclass_fields__}
    long = ("row", "rank", "levels", "cells", "chance", "predicted", "valid")
    return Released(**(fields | {name: fields[name][order] for name in long}))


releases = st.builds(
    random_release,
    seed=st.integers(0, 2**32 - 1),
    inputs=st.integers(0, 6),
    asked=st.integers(1, 6),
)
