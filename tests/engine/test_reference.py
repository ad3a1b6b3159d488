"""The reference law against brute force: spanning trees by enumeration, tables by counting."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from math import exp, log

import numpy as np
import pytest

from l2c.core.feature import Feature
from l2c.core.layout import Axis, Layout
from l2c.core.schema import Schema
from l2c.engine import likeness
from l2c.engine.reference import NARROWNESS, SHRINKAGE, ReferenceLaw, fit_reference, from_arrays, to_arrays
from laws import SIZES, dependent_rows, layout_of, log_likelihood


@pytest.fixture
def rows() -> np.ndarray:
    return dependent_rows()


def information(rows: np.ndarray, i: int, j: int) -> float:
    cell = 1 / (SIZES[i] * SIZES[j])
    total = len(rows) + 1
    share = {
        (a, b): (sum((row[i] == a) and (row[j] == b) for row in rows) + cell) / total
        for a, b in product(range(SIZES[i]), range(SIZES[j]))
    }
    left = {a: sum(share[a, b] for b in range(SIZES[j])) for a in range(SIZES[i])}
    right = {b: sum(share[a, b] for a in range(SIZES[i])) for b in range(SIZES[j])}
    return sum(p * log(p / (left[a] * right[b])) for (a, b), p in share.items())


def is_tree(edges: tuple[tuple[int, int], ...]) -> bool:
    joined = {0}
    for _ in edges:
        joined |= {b for a, b in edges if a in joined} | {a for a, b in edges if b in joined}
    return len(joined) == len(SIZES)


def test_the_tree_is_the_one_of_greatest_total_information(rows):
    law = fit_reference(layout_of(SIZES), rows)
    trees = [edges for edges in combinations(combinations(range(4), 2), 3) if is_tree(edges)]
    best = max(trees, key=lambda edges: sum(information(rows, i, j) for i, j in edges))
    found = {tuple(sorted((int(law.parent[i]), i))) for i in range(4) if law.parent[i] >= 0}
    assert found == set(best)


def test_a_parent_stands_before_its_children(rows):
    law = fit_reference(layout_of(SIZES), rows)
    place = {int(feature): position for position, feature in enumerate(law.order)}
    assert all(place[int(law.parent[i])] < place[i] for i in range(4) if law.parent[i] >= 0)


def test_a_table_is_the_counts_shrunk_towards_independence(rows):
    law = fit_reference(layout_of(SIZES), rows)
    child = next(i for i in range(4) if law.parent[i] >= 0)
    parent = int(law.parent[child])
    for given, level in product(range(SIZES[parent]), range(SIZES[child])):
        seen = sum(row[parent] == given for row in rows)
        both = sum((row[parent] == given) and (row[child] == level) for row in rows)
        marginal = (sum(row[child] == level for row in rows) + 1 / SIZES[child]) / (len(rows) + 1)
        expected = (both + SHRINKAGE * marginal) / (seen + SHRINKAGE)
        assert law.tables[child][given, level] == pytest.approx(expected)


def test_the_law_adds_to_one_over_everything(rows):
    law = fit_reference(layout_of(SIZES), rows)
    assert np.exp(log_likelihood(law, everything(SIZES))).sum() == pytest.approx(1)


def everything(sizes: tuple[int, ...]) -> np.ndarray:
    return np.array(list(product(*map(range, sizes))), dtype=np.int16)


def apart(layout: Layout, i: int, one: int, other: int) -> float:
    """Return how different two levels of a feature are."""
    axis = layout.axes[i]
    if one == other:
        return 0.0
    if not layout.schema.features[i].numeric or axis.known in (one, other):  # after the bins stands a missing value
        return 1.0
    return abs(one - other) / axis.known


@pytest.mark.parametrize("numbers", [False, True])
def test_likeness_is_the_expected_likeness_of_someone_drawn_from_the_law(rows, numbers):
    layout = with_bins() if numbers else layout_of(SIZES)
    law = fit_reference(layout, rows)
    people = everything(SIZES)
    probability = np.exp(log_likelihood(law, people))
    for row, found in zip(people, law.log_likeness(people), strict=True):
        alike = [
            exp(
                -NARROWNESS
                * sum(apart(layout, i, int(a), int(b)) for i, (a, b) in enumerate(zip(row, person, strict=True)))
            )
            for person in people
        ]
        assert found == pytest.approx(log(probability @ np.array(alike)))


@pytest.mark.parametrize("room", [0, 5, 30, 100])
def test_likeness_is_the_same_however_much_of_it_is_summed_beforehand(rows, room, monkeypatch):
    law = fit_reference(layout_of(SIZES), rows)
    monkeypatch.setattr(likeness, "TABLED", room)
    less = replace(law)
    all_, some = (sum(len(node.branches) for node in one.trunk.nodes) for one in (law, less))
    assert some > all_ == 1
    assert less.log_likeness(rows) == pytest.approx(law.log_likeness(rows), rel=1e-12)


def test_what_is_summed_beforehand_of_many_features_stays_small():
    features = 500
    table, alike = np.full((2, 2), 0.5), np.array([[1.0, 0.25], [0.25, 1.0]])
    star = ReferenceLaw(
        np.arange(features), np.minimum(np.arange(features) - 1, 0), (table[:1], *[table] * (features - 1)),
        (alike,) * features, 0.0, 1.0,
    )  # fmt: skip
    told = [branch.told.size for node in star.trunk.nodes for branch in node.branches]
    assert max(told) <= likeness.ALL_TABLED // features
    assert sum(told) <= likeness.ALL_TABLED


def with_bins() -> Layout:
    """Return a layout of the same sizes; its first and third features are numbers, the third may be missing."""
    plain = layout_of(SIZES)
    features, axes = list(plain.schema.features), list(plain.axes)
    features[0], axes[0] = (
        Feature(name="f0", kind="numeric"),
        Axis((1.0, 2.0), 0.0, 9.0, (0.5, 1.5, 5.5), (0.5, 1.5, 3.0)),
    )
    features[2] = Feature(name="f2", kind="numeric", missing=True)
    axes[2] = Axis((1.0, 2.0), None, None, (0.5, 1.5, 5.5), (0.5, 1.5, 3.0), missing=True)
    return Layout(Schema(tuple(features)), tuple(axes))


def test_a_rows_likeness_has_the_same_bits_in_any_batch(rows, monkeypatch):
    law = fit_reference(layout_of(SIZES), rows)
    whole = law.log_likeness(rows)
    monkeypatch.setattr(likeness, "BLOCK", 7)
    assert (law.log_likeness(rows) == whole).all()
    assert (law.log_likeness(rows[:3]) == whole[:3]).all()
    assert law.log_likeness(rows[:0]).shape == (0,)


@pytest.mark.parametrize("shape", ["star", "chain"])
def test_likeness_does_not_vanish_however_many_features_there_are(shape):
    features = 2000
    parent = np.arange(-1, features - 1) if shape == "chain" else np.array([-1] + [0] * (features - 1))
    table, alike = np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[1.0, 0.25], [0.25, 1.0]])
    tables = (table[:1], *[table] * (features - 1))
    law = ReferenceLaw(np.arange(features), parent, tables, (alike,) * features, 0.0, 1.0)
    # All independent and even, so each feature contributes (1 + 1/4) / 2.
    row = np.random.default_rng(0).integers(0, 2, (1, features)).astype(np.int16)
    assert law.log_likeness(row)[0] == pytest.approx(features * log(0.625))


def test_a_typical_row_is_not_unlikely_and_a_strange_one_is(rows):
    law = fit_reference(layout_of(SIZES), rows)
    share = (law.unlikeliness(rows) > 0).mean()
    assert 0.15 <= share <= 0.26
    strange = np.array([[2, 0, 0, 0]], dtype=np.int16)
    assert law.unlikeliness(strange)[0] == pytest.approx((law.typical - law.log_likeness(strange)[0]) / law.spread)
    assert law.unlikeliness(strange)[0] > 1


def test_no_rows_at_all_give_an_even_law():
    law = fit_reference(layout_of(SIZES), np.empty((0, 4), dtype=np.int16))
    assert all(np.allclose(table, 1 / table.shape[1]) for table in law.tables)


def test_arrays_round_trip(rows):
    law = fit_reference(layout_of(SIZES), rows)
    back = from_arrays("good", to_arrays("good", law))
    assert (back.log_likeness(rows) == law.log_likeness(rows)).all()
    assert (log_likelihood(back, rows) == log_likelihood(law, rows)).all()
    assert (back.typical, back.spread) == (law.typical, law.spread)


def test_its_size_does_not_grow_with_the_rows(rows):
    small, large = (to_arrays("x", fit_reference(layout_of(SIZES), part)) for part in (rows[:50], rows))
    assert {name: array.shape for name, array in small.items()} == {name: array.shape for name, array in large.items()}
