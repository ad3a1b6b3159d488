"""Small tables of counterfactuals to audit, and what a patient person counts in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import mean

import numpy as np
from hypothesis import strategies as st

from l2c.core.feature import Feature
from l2c.core.layout import Layout, categorical_axis
from l2c.core.schema import Schema
from l2c.core.types import Cells
from l2c.evaluate.audit import Population, Samples
from tables import numeric_axis

AGE = Feature(name="age", kind="numeric", role="quasi", label="Age", unit="years", missing=True)
JOB = Feature(name="job", kind="categorical", levels=("clerk", "nurse", "cook"), role="quasi")
SCHOOL = Feature(name="school", kind="ordinal", levels=(1, 2, 3, 4), role="sensitive", missing=True)
ILL = Feature(name="ill", kind="categorical", levels=("no", "flu", "cold"), role="sensitive")
OWNER = Feature(name="owner", kind="binary", levels=("no", "yes"))


def layout_of(*features: Feature) -> Layout:
    """Return a layout whose numeric features are cut at 30 and 45."""
    cut = numeric_axis((30.0, 45.0), low=18.0, high=80.0, missing=True)
    return Layout(
        Schema(features), tuple(cut if feature.numeric else categorical_axis(feature) for feature in features)
    )


LAYOUT = layout_of(AGE, JOB, SCHOOL, ILL, OWNER)

CELLS = np.array(
    [
        [22.0, 0, 0, 0, 0],
        [25.0, 0, 1, 0, 0],
        [22.0, 1, 2, 1, 0],
        [22.0, 0, 0, 0, 1],
        [50.0, 2, 3, 2, 1],
    ]
)
SMALL = Samples(
    LAYOUT, LAYOUT.levels(CELLS), CELLS, np.array([1, 1, 1, 1, 1]), ("bad", "good"), np.array([0, 0, 0, 1, 1])
)


def picked(places: list[int], row: list[int]) -> Samples:
    """Return some of the small samples, which may repeat, with other owners."""
    cells, label = CELLS[places], np.ones(len(places), dtype=np.int64)
    return replace(SMALL, levels=LAYOUT.levels(cells), cells=cells, label=label, row=np.array(row))


def random_cells(rng: np.random.Generator, rows: int, layout: Layout = LAYOUT) -> Cells:
    """Return rows with few different values, some of them missing."""
    columns = []
    for feature in layout.schema.features:
        values = np.array([22.0, 29.5, 30.0, 41.0] if feature.numeric else range(len(feature.levels)))
        gone = (rng.random(rows) < 0.15) & feature.missing
        columns.append(np.where(gone, np.nan, rng.choice(values, rows)))
    return np.stack(columns, axis=1)


def random_samples(seed: int, rows: int, people: int) -> Samples:
    """Return counterfactuals of some people, in any order; the people's numbers have gaps."""
    rng = np.random.default_rng(seed)
    cells = random_cells(rng, rows)
    owner = rng.integers(people, size=rows) * 3 + 1
    return Samples(LAYOUT, LAYOUT.levels(cells), cells, rng.integers(2, size=rows), ("bad", "good"), owner)


def random_population(seed: int, rows: int, *, labelled: bool) -> Population:
    rng = np.random.default_rng(seed + 1)
    return Population(random_cells(rng, rows), rng.integers(2, size=rows) if labelled else None)


audited = st.builds(random_samples, seed=st.integers(0, 2**32 - 1), rows=st.integers(0, 30), people=st.integers(1, 5))
populations = st.builds(
    random_population, seed=st.integers(0, 2**32 - 1), rows=st.integers(0, 30), labelled=st.booleans()
)

Class = list[int]
"""The positions of the samples in one class."""


def same_value(value: float) -> object:
    """Return a value that equals itself, missing or not."""
    return "missing" if value != value else float(value)


def slow_keys(samples: Samples, by: str) -> list[tuple[object, ...]]:
    """Return the quasi-identifiers of each sample, label included."""
    table = samples.levels if by == "levels" else samples.cells
    assert table is not None
    quasi = [i for i, feature in enumerate(samples.layout.schema.features) if feature.role == "quasi"]
    label = [None] * len(table) if samples.label is None else samples.label.tolist()
    return [(*(same_value(row[i]) for i in quasi), label[place]) for place, row in enumerate(table)]


def slow_tables(samples: Samples, by: str, scope: str) -> list[list[Class]]:
    """Return the classes of each table: of each person's set, or of the release."""
    keys = slow_keys(samples, by)
    rows = [0] * len(keys) if samples.row is None or scope == "release" else samples.row.tolist()
    tables: dict[int, dict[tuple[object, ...], Class]] = {}
    for place, (row, key) in enumerate(zip(rows, keys, strict=True)):
        tables.setdefault(row, {}).setdefault(key, []).append(place)
    return [list(classes.values()) for classes in tables.values()]


def people_in(samples: Samples, places: Sequence[int]) -> set[int]:
    assert samples.row is not None
    return {int(samples.row[place]) for place in places}


def slow_share(
    samples: Samples, tables: list[list[Class]], exposed: Callable[[Class], bool], among: Callable[[Class], bool]
) -> tuple[float | None, float | None, float | None]:
    """Return the share of classes and of samples, mean over the tables, and the share of people."""
    of_classes, of_samples = [], []
    for classes in tables:
        chosen = [one for one in classes if among(one)]
        if chosen:
            of_classes.append(mean(exposed(one) for one in chosen))
            of_samples.append(mean(exposed(one) for one in chosen for _ in one))
    everybody = {who for classes in tables for one in classes if among(one) for who in people_in(samples, one)}
    found = {
        who for classes in tables for one in classes if among(one) and exposed(one) for who in people_in(samples, one)
    }
    return (
        mean(of_classes) if of_classes else None,
        mean(of_samples) if of_samples else None,
        len(found) / len(everybody) if everybody else None,
    )


def slow_distance(part: list[int], whole: list[int], known: int, size: int, *, ordered: bool) -> float:
    """Return the earth mover's distance of two lists of levels, as the definition moves the earth."""
    p, q = ([levels.count(level) / len(levels) for level in range(size)] for levels in (part, whole))
    if not ordered:
        return sum(max(a - b, 0) for a, b in zip(p, q, strict=True))
    gone = abs(sum(p[:known]) - sum(q[:known]))
    held = min(sum(p[:known]), sum(q[:known]))
    p, q = ([held * one / sum(side[:known]) if sum(side[:known]) else 0 for one in side[:known]] for side in (p, q))
    work, carried = 0.0, 0.0
    for a, b in zip(p, q, strict=True):
        carried += a - b
        work += abs(carried)
    return work / max(known - 1, 1) + gone


def anything(_: Class) -> bool:
    return True
