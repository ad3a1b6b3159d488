"""What is seen of a model adds up to what it answers, for every combination of levels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from l2c.core.feature import Feature
from l2c.core.layout import Axis, Layout, categorical_axis
from l2c.core.schema import Schema
from l2c.core.sight import Additive, Forest, Trees, View
from l2c.core.types import Cells, Levels
from laws import layout_of
from tables import numeric_axis

CODES = 8


def random_layout(rng: np.random.Generator) -> Layout:
    """Return two to five features of a few levels: numbers and ordered levels, some of which may be missing."""
    features, axes = [], []
    for i in range(rng.integers(2, 6)):
        missing = bool(rng.random() < 0.3)
        if rng.random() < 0.5:
            cuts = tuple(np.cumsum(rng.integers(1, 9, rng.integers(1, 4))).astype(float))
            features.append(Feature(name=f"f{i}", kind="numeric", missing=missing))
            axes.append(numeric_axis(cuts, low=None, high=None, missing=missing))
        else:
            levels = tuple(f"{i}.{j}" for j in range(rng.integers(1, 5)))
            features.append(Feature(name=f"f{i}", kind="ordinal", levels=levels, missing=missing))
            axes.append(categorical_axis(features[-1]))
    return Layout(Schema(tuple(features)), tuple(axes))


def random_view(kind: str, layout: Layout, classes: int, rng: np.random.Generator, sort: str) -> View:
    """Return a view of a model that does not exist, made of a sort of numbers."""
    return (random_additive if kind == "additive" else random_trees)(layout, classes, rng, sort)


def random_numbers(rng: np.random.Generator, shape: tuple[int, ...], sort: str) -> np.ndarray:
    """Return `whole` numbers, among whose sums ties are common; `thirds`, which floats round besides; or any."""
    if sort == "any":
        return rng.normal(size=shape)
    return rng.integers(-2, 3, shape) / (3 if sort == "thirds" else 1)


def random_additive(layout: Layout, classes: int, rng: np.random.Generator, sort: str) -> Additive:
    numeric = np.array([feature.numeric for feature in layout.schema.features])
    entries = random_numbers(rng, (layout.width, classes), sort)
    entries[numeric[layout.owner] & layout.stands_for_a_value] = 0
    slopes = random_numbers(rng, (len(numeric), classes), sort) * numeric[:, None]
    seen = np.ones(len(numeric), dtype=bool)
    return Additive(layout, random_numbers(rng, (classes,), sort), slopes, entries, seen)


def random_trees(layout: Layout, classes: int, rng: np.random.Generator, sort: str) -> Trees:
    """Return trees whose inputs are twice each feature, whether it is its lowest, and one that is always 7."""
    features = len(layout.axes)
    owner = np.array([*range(features), *range(features), -1])
    person = layout.values(np.zeros((1, features), dtype=np.int16), "median")[0]

    def inputs(chosen: np.ndarray, values: np.ndarray) -> np.ndarray:
        rows = np.tile(person, (len(chosen), 1))
        rows[np.arange(len(chosen)), chosen] = values
        return transformed(rows, person)

    forest = random_forest(owner, layout, classes, rng, sort)
    base = random_numbers(rng, (classes,), sort)
    return Trees(layout, forest, base, "softmax", owner, inputs, np.ones(features, dtype=bool))


def transformed(rows: Cells, lowest: Cells) -> np.ndarray:
    return np.hstack([2 * rows, rows == lowest, np.full((len(rows), 1), 7.0)])


def random_forest(owner: np.ndarray, layout: Layout, classes: int, rng: np.random.Generator, sort: str) -> Forest:
    """Return one to six trees of a depth of up to three, some of whose nodes test codes."""
    values = layout.representatives("median")
    nodes: list[list[float]] = []
    leaves: list[np.ndarray] = []

    def grow(depth: int) -> int:
        here = len(nodes)
        leaves.append(random_numbers(rng, (classes,), sort))
        nodes.append([-1, 0, -1, 0, 0, 0])
        if rng.random() < (0.0, 0.5, 0.8, 0.95)[depth]:
            column = rng.integers(len(owner))
            places = np.flatnonzero((layout.owner == owner[column]) & ~np.isnan(values))
            threshold = 2 * rng.choice(values[places]) if len(places) else rng.choice([6.0, 7.0])
            subset = rng.integers(3) if rng.random() < 0.2 else -1
            nodes[here] = [column, threshold, subset, rng.integers(2), grow(depth - 1), grow(depth - 1)]
        return here

    roots = np.array([grow(3) for _ in range(rng.integers(1, 7))])
    column, threshold, subset, missing_left, left, right = np.array(nodes).T
    whole_numbers = (part.astype(np.int64) for part in (column, subset, left, right))
    column, subset, left, right = whole_numbers
    subsets = rng.random((3, CODES)) < 0.5
    return Forest(roots, column, threshold, subset, subsets, missing_left.astype(bool), left, right, np.array(leaves))


def every_row(layout: Layout) -> Levels:
    """Return every combination of levels."""
    return np.array(list(product(*(range(size) for size in layout.sizes))), dtype=np.int16)


def values_of(layout: Layout, rng: np.random.Generator) -> np.ndarray:
    """Return a value for each place, one of each feature's being a person's own."""
    values = layout.representatives("median")
    for i, feature in enumerate(layout.schema.features):
        if feature.numeric:
            place = layout.offsets[i] + rng.integers(layout.axes[i].known)
            values[place] = layout.axes[i].midpoint[place - layout.offsets[i]]
    return values


@pytest.mark.parametrize("sort", ["whole", "thirds", "any"])
@pytest.mark.parametrize("kind", ["additive", "trees"])
@pytest.mark.parametrize("seed", range(30))
def test_the_parts_add_up_to_the_scores_of_every_row(kind, sort, seed):
    rng = np.random.default_rng(seed)
    layout = random_layout(rng)
    view = random_view(kind, layout, 3, rng, sort)
    values, rows = values_of(layout, rng), every_row(layout)
    allowed = rng.random(layout.width) < 0.8
    allowed[layout.offsets] = True
    rows = rows[allowed[rows + layout.offsets].all(axis=1)]
    parts = view.parts(values, allowed)
    scores = view.scores(values[rows + layout.offsets])
    for row, score in zip(rows, scores, strict=True):
        places = row + layout.offsets
        reached = parts.box[:, places].all(axis=1)
        assert sorted(parts.tree[reached]) == sorted(set(parts.tree))
        added = parts.base + parts.entries[places].sum(axis=0) + parts.leaf[reached].sum(axis=0)
        np.testing.assert_allclose(added, score, rtol=0, atol=1e-12)
        assert np.abs(score).max() <= parts.magnitude + 1e-12
    assert (np.round(parts.leaf) == parts.leaf).all() or not parts.exact


@pytest.mark.parametrize("seed", range(20))
def test_a_row_ends_in_the_leaf_that_a_slow_walk_finds(seed):
    rng = np.random.default_rng(seed)
    layout = random_layout(rng)
    view = random_trees(layout, 2, rng, "whole")
    rows = values_of(layout, rng)[every_row(layout) + layout.offsets]
    inputs = transformed(rows, layout.values(np.zeros((1, rows.shape[1]), dtype=np.int16), "median")[0])
    np.testing.assert_array_equal(view.assembled(rows)[:, :-1], inputs[:, :-1])
    forest = view.forest

    def walk(node: int, row: np.ndarray) -> int:
        if forest.column[node] < 0:
            return node
        x = row[forest.column[node]]
        if np.isnan(x):
            left = forest.missing_left[node]
        elif forest.subset[node] >= 0:
            left = forest.subsets[forest.subset[node], min(max(int(x), 0), CODES - 1)]
        else:
            left = x <= forest.threshold[node]
        return walk(forest.left[node] if left else forest.right[node], row)

    expected = [[walk(root, row) for root in forest.roots] for row in inputs]
    np.testing.assert_array_equal(forest.reached(inputs), expected)


def stump(column: int, threshold: float) -> Forest:
    """Return one tree with one test, for the first class where it goes left and the second where it does not."""
    nodes = np.arange(3)
    return Forest(
        np.zeros(1, dtype=np.int64),
        np.array([column, -1, -1]),
        np.array([threshold, 0.0, 0.0]),
        np.full(3, -1),
        np.zeros((0, CODES), dtype=bool),
        np.array([True, False, False]),
        np.where(nodes == 0, 1, 0),
        np.where(nodes == 0, 2, 0),
        np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
    )


def codes_of(layout: Layout, forest: Forest, base: float = 0.0) -> Trees:
    """Return trees whose inputs are the features themselves."""
    features = len(layout.axes)

    def inputs(chosen: np.ndarray, values: np.ndarray) -> np.ndarray:
        rows = np.zeros((len(chosen), features))
        rows[np.arange(len(chosen)), chosen] = values
        return rows

    seen = np.ones(features, dtype=bool)
    return Trees(layout, forest, np.array([base, 0.0]), "mean", np.arange(features), inputs, seen)


def test_a_tree_that_looks_at_one_feature_is_a_table_of_it():
    layout = layout_of((3, 2))
    parts = codes_of(layout, stump(0, 1.0)).parts(layout.representatives("median"), np.ones(5, dtype=bool))
    assert len(parts.tree) == 0
    np.testing.assert_array_equal(parts.entries, [[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]])


def test_a_tree_that_can_end_in_one_leaf_only_is_part_of_the_base():
    layout = layout_of((3, 2))
    allowed = np.array([True, True, False, True, True])
    parts = codes_of(layout, stump(0, 1.0)).parts(layout.representatives("median"), allowed)
    assert len(parts.tree) == 0
    assert not parts.entries.any()
    np.testing.assert_array_equal(parts.base, [1, 0])


def test_a_missing_value_goes_where_its_node_says():
    layout = layout_of((3, 2))
    view = codes_of(layout, stump(0, 1.0))
    np.testing.assert_array_equal(view.scores(np.array([[np.nan, 0.0], [2.0, 0.0]])), [[1, 0], [0, 1]])


def test_the_probabilities_of_a_forest_are_the_mean_of_its_trees():
    forest = stump(0, 1.0)
    twice = Forest(
        **{name: getattr(forest, name) for name in forest.__dataclass_fields__} | {"roots": np.array([0, 0])}
    )
    view = codes_of(layout_of((3, 2)), twice)
    np.testing.assert_array_equal(view.proba(view.scores(np.array([[2.0, 0.0]]))), [[0, 1]])


def test_the_probabilities_of_an_additive_view_are_the_softmax_of_its_scores():
    layout = layout_of((2, 2))
    entries = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, -3.0]])
    seen = np.ones(2, dtype=bool)
    view = Additive(layout, np.array([0.0, 0.5]), np.zeros((2, 2)), entries, seen)
    scores = view.scores(np.array([[1.0, 1.0]]))
    np.testing.assert_allclose(view.proba(scores)[0, 1], 1 / (1 + np.exp(1.5)))


def test_the_table_of_a_number_is_its_slope_times_the_value_that_stands_there():
    feature = Feature(name="hours", kind="numeric", missing=True)
    layout = Layout(Schema((feature,)), (Axis((10.0,), 0.0, 20.0, (5.0, 15.0), (4.0, 12.0), True),))
    entries = np.array([[0.0], [0.0], [0.25]])
    view = Additive(layout, np.zeros(1), np.array([[2.0]]), entries, np.ones(1, dtype=bool))
    np.testing.assert_array_equal(view.tables(np.array([3.0, 12.0, np.nan])), [[6.0], [24.0], [0.25]])


@pytest.mark.parametrize(("base", "exact"), [(0.5, True), (1 / 3, False), (2.0**21, False)])
def test_a_sum_is_exact_if_no_float_could_round_it(base, exact):
    layout = layout_of((3, 2))
    parts = codes_of(layout, stump(0, 1.0), base).parts(layout.representatives("median"), np.ones(5, dtype=bool))
    assert parts.exact is exact
