"""Random schemas, layouts and rows: what must hold on any table is tested on these."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from l2c.core.feature import Feature, Kind, Moves
from l2c.core.layout import Axis, Layout, categorical_axis
from l2c.core.method import Question
from l2c.core.rules import Implies
from l2c.core.schema import Schema
from l2c.core.types import Cells, Levels

KINDS: tuple[Kind, ...] = ("numeric", "ordinal", "categorical", "binary")
MOVES: tuple[Moves, ...] = ("both", "rises", "falls", "never")

GAPS = st.floats(0.25, 20.0)
INSIDE = st.floats(0.01, 1.0)
SEEDS = st.integers(0, 2**32 - 1)


def numeric_axis(cuts: tuple[float, ...], *, low: float | None, high: float | None, missing: bool = False) -> Axis:
    """Return the axis with these cuts, whose medians lie a quarter of the way into the bins."""
    ends = [cuts[0] - 8.0 if low is None else low, *cuts, cuts[-1] + 8.0 if high is None else high]
    midpoint = tuple((a + b) / 2 for a, b in pairwise(ends))
    median = tuple(a + (b - a) / 4 for a, b in pairwise(ends))
    return Axis(cuts, low, high, midpoint, median, missing)


@st.composite
def axes(draw: st.DrawFn, missing: bool) -> Axis:
    """Numeric axes: rising cuts, outer ends open or closed, representatives anywhere in their bins."""
    start = draw(st.floats(-50.0, 50.0))
    cuts = tuple(np.cumsum([start, *draw(st.lists(GAPS, min_size=0, max_size=3))]).tolist())
    low = draw(st.none() | GAPS.map(lambda gap: cuts[0] - gap))
    high = draw(st.none() | GAPS.map(lambda gap: cuts[-1] + gap))
    ends = [cuts[0] - 5.0 if low is None else low, *cuts, cuts[-1] + 5.0 if high is None else high]
    spots = st.lists(INSIDE, min_size=len(ends) - 1, max_size=len(ends) - 1)
    midpoint, median = (
        tuple(min(a + share * (b - a), b) for share, (a, b) in zip(draw(spots), pairwise(ends), strict=True))
        for _ in range(2)
    )
    return Axis(cuts, low, high, midpoint, median, missing)


@st.composite
def described_axes(
    draw: st.DrawFn, name: str, *, moves: tuple[Moves, ...] = MOVES, ranges: bool, gaps: bool
) -> tuple[Feature, Axis]:
    """A feature with its axis; `ranges` declares ranges that shut some bins out, `gaps` lets values be missing."""
    kind = draw(st.sampled_from(KINDS))
    ordered = [move for move in moves if kind != "categorical" or move in ("both", "never")]
    move = draw(st.sampled_from(ordered))
    missing = gaps and draw(st.booleans())
    if kind != "numeric":
        count = 2 if kind == "binary" else draw(st.integers(1, 4))
        levels = tuple(f"{name}{code}" for code in range(count))
        feature = Feature(name=name, kind=kind, levels=levels, moves=move, missing=missing)
        return feature, categorical_axis(feature)
    axis = draw(axes(missing))
    first, last = min(axis.midpoint[0], axis.median[0]), max(axis.midpoint[-1], axis.median[-1])
    low = draw(st.none() | st.floats(first - 1.0, last)) if ranges else None
    high = draw(st.none() | st.floats(first if low is None else low + 0.5, last + 1.0)) if ranges else None
    return Feature(name=name, kind="numeric", moves=move, missing=missing, low=low, high=high), axis


@st.composite
def layouts(
    draw: st.DrawFn,
    *,
    most: int = 5,
    moves: tuple[Moves, ...] = MOVES,
    ranges: bool = True,
    gaps: bool = True,
    rules: bool = True,
) -> Layout:
    """Layouts of one to `most` features, of all kinds and moves; the first feature may always move."""
    mobile = tuple(move for move in moves if move != "never")
    count = draw(st.integers(1, most))
    parts = [
        draw(described_axes(f"f{i}", moves=moves if i else mobile, ranges=ranges, gaps=gaps)) for i in range(count)
    ]
    features = tuple(feature for feature, _ in parts)
    links = [
        Implies(cause.name, effect.name)
        for i, cause in enumerate(features)
        for effect in features[i + 1 :]
        if cause.ordered and effect.ordered and (effect.may_rise or not cause.may_rise)
    ]
    chosen = tuple(draw(st.lists(st.sampled_from(links), max_size=2, unique=True))) if rules and links else ()
    return Layout(Schema(features, rules=chosen), tuple(axis for _, axis in parts))


def random_cells(layout: Layout, rows: int, rng: np.random.Generator) -> Cells:
    """Return rows of any content: numbers on cuts, between them and beyond the ends; missing where declared."""
    cells = np.empty((rows, len(layout.axes)))
    for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
        if feature.numeric:
            ends = sorted({*axis.cuts, *axis.midpoint, *axis.median})
            spread = rng.uniform(ends[0] - 3.0, ends[-1] + 3.0, rows)
            cells[:, i] = np.where(rng.random(rows) < 0.2, rng.choice(ends, rows), spread)
        else:
            cells[:, i] = rng.integers(0, axis.known, rows)
        if axis.missing:
            cells[rng.random(rows) < 0.25, i] = np.nan
    return cells


def random_levels(layout: Layout, shape: tuple[int, ...], rng: np.random.Generator) -> Levels:
    """Return levels of any content, missing included."""
    return rng.integers(0, layout.sizes, (*shape, len(layout.axes))).astype(np.int16)


def random_question(layout: Layout, rows: int, rng: np.random.Generator) -> Question:
    """Return random rows of class 0 that should be of class 1."""
    cells = random_cells(layout, rows, rng)
    return Question(cells, layout.levels(cells), np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=np.int64))


def small_layout() -> Layout:
    """Return five features, one for each way of moving and being missing, 15 places in all."""
    features = (
        Feature(name="age", kind="numeric", integer=True, moves="rises", unit="years"),
        Feature(name="debt", kind="numeric", moves="falls", missing=True),
        Feature(name="job", kind="categorical", levels=("clerk", "nurse", "cook"), missing=True),
        Feature(name="school", kind="ordinal", levels=("low", "middle", "high")),
        Feature(name="sex", kind="binary", levels=("f", "m"), moves="never"),
    )
    axes = (
        numeric_axis((30.0, 45.0), low=18.0, high=80.0),
        numeric_axis((100.0,), low=None, high=None, missing=True),
        *(categorical_axis(feature) for feature in features[2:]),
    )
    return Layout(Schema(features), axes)
