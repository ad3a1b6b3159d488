"""Random schemas, layouts and rows: what must hold on any table is tested on these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from l2c.core.feature import Feature, Kind, Moves
from l2c.core.goal import Goal
from l2c.core.layout import Axis, Decode, Layout, categorical_axis
from l2c.core.limits import Limits
from l2c.core.method import Question
from l2c.core.rules import How, Implies
from l2c.core.schema import Schema
from l2c.core.types import Cells, Levels, Mask

KINDS: tuple[Kind, ...] = ("numeric", "ordinal", "categorical", "binary")
MOVES: tuple[Moves, ...] = ("both", "rises", "falls", "never")
HOWS: tuple[How, ...] = ("must_rise", "must_not_fall", "only_if")

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
def priced(draw: st.DrawFn, feature: Feature) -> Feature:
    """The feature with costs of every sort: for touching it, for each unit or step up and down, for its levels."""
    cost = draw(st.sampled_from([0.0, 0.5, 1.0, 4.0]))
    up, down = (draw(st.sampled_from([0.0, 0.5, 2.0])) if feature.ordered else 0.0 for _ in range(2))
    each = tuple(float(code % 3) for code in range(len(feature.levels))) if draw(st.booleans()) else ()
    return replace(feature, cost=cost, cost_up=up, cost_down=down, level_costs=each)


@st.composite
def layouts(
    draw: st.DrawFn,
    *,
    most: int = 5,
    moves: tuple[Moves, ...] = MOVES,
    ranges: bool = True,
    gaps: bool = True,
    rules: bool = True,
    hows: tuple[How, ...] = ("must_rise",),
    ruled: bool = False,
    costs: bool = False,
) -> Layout:
    """Layouts of one to `most` features, of all kinds and moves; the first feature may always move.

    There may be up to two rules, of the sorts in `hows`; with `ruled` there is one at least.
    """
    mobile = tuple(move for move in moves if move != "never")
    count = draw(st.integers(2 if ruled else 1, most))
    parts = [
        draw(described_axes(f"f{i}", moves=moves if i else mobile, ranges=ranges, gaps=gaps)) for i in range(count)
    ]
    features = tuple(draw(priced(feature)) if costs else feature for feature, _ in parts)
    links = [
        Implies(cause.name, effect.name, how)
        for i, cause in enumerate(features)
        for effect in features[i + 1 :]
        for how in hows
        if cause.ordered and effect.ordered and _can_be_kept(cause, effect, how)
    ]
    assume(links or not ruled)
    some = st.lists(st.sampled_from(links), min_size=int(ruled), max_size=2, unique=True)
    chosen = tuple(draw(some)) if rules and links else ()
    return Layout(Schema(features, rules=chosen), tuple(axis for _, axis in parts))


def _can_be_kept(cause: Feature, effect: Feature, how: How) -> bool:
    """Return whether a rule leaves a feature that may rise a way to do so; a schema refuses it otherwise."""
    if how == "must_rise":
        return effect.may_rise or not cause.may_rise
    return how == "must_not_fall" or cause.may_rise or not effect.may_rise


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


def question_for(
    layout: Layout,
    cells: Cells,
    *,
    current: Sequence[int] | np.ndarray | int = 0,
    desired: Sequence[int] | np.ndarray | int = 1,
    decode: Decode = "auto",
    limits: Limits | Sequence[tuple[Limits, Mask]] = (),
) -> Question:
    """Return the question of rows that are surely of one class and should be of another.

    Limits alone are for all rows; otherwise each comes with the rows that it is for.
    """
    now, wanted = (np.broadcast_to(np.asarray(classes, dtype=np.int64), len(cells)) for classes in (current, desired))
    classes = max(2, int(max(now.max(initial=0), wanted.max(initial=0))) + 1)
    asked = [(limits, np.ones(len(cells), dtype=bool))] if isinstance(limits, Limits) else limits
    goal = Goal.of_classes(wanted, classes)
    return Question.of(layout, cells, np.eye(classes)[now], goal, decode=decode, limits=asked)


def random_question(
    layout: Layout,
    rows: int,
    rng: np.random.Generator,
    *,
    decode: Decode = "auto",
    limits: Limits | Sequence[tuple[Limits, Mask]] = (),
) -> Question:
    """Return random rows of class 0 that should be of class 1."""
    return question_for(layout, random_cells(layout, rows, rng), decode=decode, limits=limits)


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
