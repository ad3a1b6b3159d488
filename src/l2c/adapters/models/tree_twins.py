"""Twins of boosted trees, read from the model and from what its steps before them make of each feature.

A pipeline's steps may be of any make. What they make of a level is asked of them, once; of a number it must be a line,
which is measured, so that a tree's test of an input is a test of the number itself. Nothing is taken on trust: a twin
is used only if it then answers as the model does.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int64, UInt64

from l2c.adapters.frames import FrameShape
from l2c.adapters.models.frame_model import FrameModel
from l2c.adapters.models.lightgbm_trees import lightgbm_grown
from l2c.adapters.models.sight import last_step, owners_of, probes_of, transformed_by
from l2c.adapters.models.trees import Grown, grown
from l2c.adapters.models.xgboost_trees import xgboost_grown
from l2c.core.layout import Layout
from l2c.core.sight import Forest
from l2c.core.tree_twin import EVERY, MOST_LEAVES, STRANDS, Cuts, TreeTwin, slot_of
from l2c.core.types import Cells
from l2c.errors import L2CError

MOST_TREES = 4096
"""Beyond so many trees, what each place leaves open would not fit in a processor's cache."""

ASKED = 64
"""Rows of which the least decided tells what a sum over trees starts from: there log-odds lose no digits."""

ROUNDING = 1e-5
"""How far a twin's probabilities may be from the model's: rounding in single precision is not more."""

APART = (0.0, -1.0, 9.0, -9.0, 99.0, -99.0, 999.0, -999.0, 9999.0, -9999.0)
"""Numbers that are often written for none, and that models may treat otherwise than their neighbours."""

ASIDE = 1e-5
"""How far beside a cut a row is asked about, as a share of it: no rounding of a column brings it back."""

STRAIGHT = 1e-6
"""How far from a line an input may be, as a share of its range."""

NEAR = 1e-12
"""How near to a number a cut must be, as a share of it, for the model's steps to be asked on which side it lies."""


Numbers = tuple[Int64[np.ndarray, " numbers"], Float64[np.ndarray, " numbers"]]
"""Features, and a number of each."""


def tree_twin(blackbox: object, model: Any, layout: Layout, rows: Cells) -> TreeTwin | None:
    """Return the twin of a boosted model of two classes, or None if it is none or cannot be read.

    Parameters
    ----------
    model
        What the black box was made of: a fitted classifier, or a pipeline that ends in one.
    rows
        Rows that take every level, missing ones included.
    """
    blackbox, model = getattr(blackbox, "blackbox", blackbox), getattr(model, "best_estimator_", model)
    complete = ~np.isnan(rows).any(axis=1)
    if not isinstance(blackbox, FrameModel) or len(blackbox.classes) != 2 or not complete.any():
        return None
    read = _read(last_step(model))
    if read is None or read.link != "softmax" or len(read.forest.roots) > MOST_TREES:
        return None
    leaves = _leaves(read.forest)
    if leaves is None:
        return None
    apart = _apart(blackbox.shape, layout, rows[complete.argmax()])
    seen = _Seen.of(blackbox, model, read, layout, rows, rows[complete.argmax()], apart)
    if seen is None:
        return None
    tests = _tests(seen, layout, read, leaves)
    twin = _put_together(layout, read.forest, leaves, seen, tests)
    answers = blackbox.proba(rows[:ASKED])
    least = np.abs(answers[:, 1] - answers[:, 0]).argmin()
    (_, told), (_, asked) = twin.of_cells(rows[least : least + 1])[0], answers[least]
    twin = replace(twin, base=_log_odds(asked) - _log_odds(told))
    beside = _beside_cuts(layout, tests, rows, apart)
    return twin if twin.off(beside, blackbox.proba(beside)) <= ROUNDING else None


def _read(model: Any) -> Grown | None:
    """Return the trees of a model, or None if it has none, or writes them down otherwise than it is known to."""
    try:
        return grown(model) or xgboost_grown(model) or lightgbm_grown(model)
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def _apart(shape: FrameShape, layout: Layout, person: Cells) -> Numbers:
    """Return features, and numbers often written for none that their columns can hold."""

    def held(feature: int, number: float) -> bool:
        try:
            shape.build(np.where(np.arange(len(person)) == feature, number, person)[None, :])
        except L2CError:
            return False
        return True

    found = [(i, number) for i in np.flatnonzero(layout.numeric) for number in APART if held(int(i), number)]
    return np.array([i for i, _ in found], dtype=np.int64), np.array([number for _, number in found])


def _beside_cuts(
    layout: Layout,
    tests: _Tests,
    rows: Cells,
    apart: Numbers,
) -> Cells:
    """Return rows that have a number a little below or above each cut, or one that is often written for none."""
    pairs = np.unique(np.stack([tests.feature, tests.cut], axis=1)[np.isfinite(tests.cut)], axis=0)
    owner, cut = pairs[:, 0].astype(np.int64), pairs[:, 1]
    step = ASIDE * np.maximum(np.abs(cut), ASIDE)
    whole = np.array([one.integer for one in layout.schema.features])[owner]
    below = np.where(whole, np.ceil(cut) - 1, cut - step)
    above = np.where(whole, np.floor(cut) + 1, cut + step)
    # A whole number may lie on the cut itself.
    between = np.where(whole, np.rint(cut), below)
    feature = np.concatenate([np.tile(owner, 3), apart[0]])
    number = np.concatenate([below, between, above, apart[1]])
    found = np.resize(rows, (len(number), rows.shape[1]))
    found[np.arange(len(number)), feature] = number
    return found


def _log_odds(share: float) -> float:
    """Return the logarithm of the odds; of a share of 0 or 1 nothing can be told."""
    return math.log(share / (1 - share)) if 0 < share < 1 else math.nan


class _Leaves(NamedTuple):
    """The bits of a forest's leaves: those on the left of each test, and each leaf's own place and tree."""

    on_the_left: UInt64[np.ndarray, " nodes"]
    tree: Int64[np.ndarray, " nodes"]
    place: Int64[np.ndarray, " nodes"]

    def inner(self, forest: Forest) -> Bool[np.ndarray, " nodes"]:
        """Return which nodes test something; those that were pruned are in no tree."""
        return (self.tree >= 0) & (forest.column >= 0)


def _leaves(forest: Forest) -> _Leaves | None:
    """Return the bits of a forest's leaves, from left to right in each tree; None if a tree has too many."""
    nodes = len(forest.column)
    on_the_left, tree, place = np.zeros(nodes, np.uint64), np.full(nodes, -1), np.full(nodes, -1)
    for t, root in enumerate(forest.roots.tolist()):
        count, ahead = 0, [(root, 0, False)]
        while ahead:
            node, begin, been_left = ahead.pop()
            tree[node] = t
            if forest.column[node] < 0:
                if count == MOST_LEAVES:
                    return None
                place[node] = count
                count += 1
            elif not been_left:
                ahead += [(node, count, True), (int(forest.left[node]), 0, False)]
            else:
                on_the_left[node] = np.uint64((1 << count) - (1 << begin))
                ahead.append((int(forest.right[node]), 0, False))
    return _Leaves(on_the_left, tree, place)


class _Seen(NamedTuple):
    """What the steps before the trees make of each feature.

    Parameters
    ----------
    owner
        The feature that each input depends on, −1 for none.
    at
        The inputs at each place of the flat axis that stands for no number, for one person.
    slope, start
        Of an input that a number decides: the line that it is.
    asks
        From features and values of theirs to the inputs of the same person.
    """

    owner: Int64[np.ndarray, " columns"]
    at: Float64[np.ndarray, "width columns"]
    slope: Float64[np.ndarray, " columns"]
    start: Float64[np.ndarray, " columns"]
    asks: Any

    @classmethod
    def of(
        cls,
        blackbox: FrameModel,
        model: Any,
        read: Grown,
        layout: Layout,
        rows: Cells,
        person: Cells,
        apart: Numbers,
    ) -> _Seen | None:
        """Return what is seen, or None if an input depends on several features, or on a number other than by a line."""

        def asks(
            features: Int64[np.ndarray, " n"], values: Float64[np.ndarray, " n"]
        ) -> Float64[np.ndarray, "n columns"]:
            changed = np.tile(person, (len(features), 1))
            changed[np.arange(len(features)), features] = values
            return transformed_by(model, read, blackbox, changed)

        probes, features = probes_of(layout, rows, person)
        values = np.concatenate([probes[np.arange(len(probes)), features], apart[1]])
        features = np.concatenate([features, apart[0]])
        answers = asks(np.concatenate([[0], features]), np.concatenate([person[:1], values]))
        owner = owners_of(features, answers)
        if owner is None:
            return None
        representative, at = layout.representatives("median"), np.tile(answers[0], (layout.width, 1))
        for place in np.flatnonzero(~(layout.numeric[layout.owner] & layout.stands_for_a_value)):
            same = (values == representative[place]) | (np.isnan(values) & np.isnan(representative[place]))
            found = np.flatnonzero((features == layout.owner[place]) & same)
            if not len(found):
                return None
            at[place] = answers[1 + found[0]]
        slope, start = np.zeros(len(owner)), np.zeros(len(owner))
        for column in np.flatnonzero(layout.numeric[np.maximum(owner, 0)] & (owner >= 0)):
            mine = np.flatnonzero((features == owner[column]) & ~np.isnan(values))
            x, y = values[mine], answers[1 + mine, column]
            low, high = x.argmin(), x.argmax()
            slope[column] = (y[high] - y[low]) / (x[high] - x[low])
            start[column] = y[low] - slope[column] * x[low]
            off = np.abs(start[column] + slope[column] * x - y).max()
            if not off <= STRAIGHT * abs(y[high] - y[low]):
                return None
        return cls(owner, at, slope, start, asks)


class _Tests(NamedTuple):
    """Tests of numbers: their nodes, the features that they look at, and the number that is the last to pass."""

    node: Int64[np.ndarray, " tests"]
    feature: Int64[np.ndarray, " tests"]
    cut: Float64[np.ndarray, " tests"]
    falling: Bool[np.ndarray, " tests"]


def _tests(seen: _Seen, layout: Layout, read: Grown, leaves: _Leaves) -> _Tests:
    """Return the tests of numbers, in terms of the numbers themselves."""
    forest, owner = read.forest, seen.owner[np.maximum(read.forest.column, 0)]
    node = np.flatnonzero(leaves.inner(forest) & (owner >= 0) & layout.numeric[np.maximum(owner, 0)])
    column, feature, last = forest.column[node], owner[node], forest.threshold[node]
    if read.single:
        # What is rounded to the last number that passes, passes: all up to half way to the next.
        rounded = last.astype(np.float32)
        rounded = np.where(rounded > last, np.nextafter(rounded, np.float32(-np.inf)), rounded)
        last = 0.5 * (rounded.astype(np.float64) + np.nextafter(rounded, np.float32(np.inf)).astype(np.float64))
        # Half way itself is rounded to the even one.
        last = np.where(last.astype(np.float32) > rounded, np.nextafter(last, -np.inf), last)
    slope, start = seen.slope[column], seen.start[column]
    flat = slope == 0
    cut, falling = (last - start) / np.where(flat, 1.0, slope), slope < 0
    cut[flat] = np.where(start[flat] <= last[flat], np.inf, -np.inf)
    # A number that people have may lie on the cut itself, where a measured line does not tell which side is whose.
    number = _likely_numbers(layout, feature, np.where(flat, 0.0, cut))
    close = np.flatnonzero(~flat & (np.abs(number - cut) <= NEAR * np.maximum(np.abs(cut), 1.0)))
    if len(close):
        inputs = seen.asks(feature[close], number[close])
        passes = inputs[np.arange(len(close)), column[close]] <= last[close]
        outward = np.where(falling[close], np.inf, -np.inf)
        cut[close] = np.where(passes, number[close], np.nextafter(number[close], outward))
    return _Tests(node, feature, cut, falling)


def _likely_numbers(
    layout: Layout, feature: Int64[np.ndarray, " tests"], cut: Float64[np.ndarray, " tests"]
) -> Float64[np.ndarray, " tests"]:
    """Return a number near each cut that rows are likely to have: one that stands for a bin, or of few digits."""
    likely = np.array([float(f"{one:.10g}") for one in cut])
    for i in np.unique(feature):
        places = slice(layout.offsets[i], layout.offsets[i] + layout.axes[i].known)
        stand_ins = np.concatenate([layout.representatives("median", other=other)[places] for other in (False, True)])
        mine = np.flatnonzero(feature == i)
        if layout.schema.features[i].integer:
            likely[mine] = np.rint(cut[mine])
        nearest = stand_ins[np.abs(stand_ins[:, None] - cut[mine]).argmin(axis=0)]
        likely[mine] = np.where(np.abs(nearest - cut[mine]) <= np.abs(likely[mine] - cut[mine]), nearest, likely[mine])
    return likely


def _put_together(layout: Layout, forest: Forest, leaves: _Leaves, seen: _Seen, tests: _Tests) -> TreeTwin:
    """Return the twin of which nothing is known yet of what its sum starts from."""
    trees = -(-len(forest.roots) // STRANDS) * STRANDS
    kept, value = ~leaves.on_the_left, np.zeros((trees, MOST_LEAVES))
    ends = np.flatnonzero(leaves.place >= 0)
    value[leaves.tree[ends], slot_of(leaves.place[ends])] = forest.value[ends, 1] - forest.value[ends, 0]
    numeric = layout.numeric[layout.owner] & layout.stands_for_a_value
    known = np.full((layout.width, trees), EVERY)
    inner = np.flatnonzero(leaves.inner(forest))
    owner = seen.owner[forest.column[inner]]
    for place in np.flatnonzero(~numeric):
        mine = inner[owner == layout.owner[place]]
        fails = mine[~forest.goes_left(mine, seen.at[place, forest.column[mine]])]
        np.bitwise_and.at(known[place], leaves.tree[fails], kept[fails])
    # What an input that nobody owns decides, is decided for every row: the leaves that it closes are closed from the
    # start, with the first feature whatever its level.
    still = inner[owner < 0]
    closing = still[~forest.goes_left(still, seen.at[0, forest.column[still]])]
    first = np.flatnonzero((layout.owner == 0) & ~numeric)
    for place in first:
        np.bitwise_and.at(known[place], leaves.tree[closing], kept[closing])
    node = np.concatenate([tests.node, closing])
    feature = np.concatenate([tests.feature, np.zeros(len(closing), np.int64)])
    cut = np.concatenate([tests.cut, np.full(len(closing), -np.inf)])
    falling = np.concatenate([tests.falling, np.zeros(len(closing), bool)])
    order = np.argsort(feature, kind="stable")
    starts = np.searchsorted(feature[order], np.arange(len(layout.axes) + 1))
    cuts = Cuts(starts, leaves.tree[node[order]], cut[order], falling[order], kept[node[order]])
    return TreeTwin(layout, 0.0, value, known, numeric, cuts, 0.0)
