"""The reference law against brute force: spanning trees by enumeration, tables by counting."""

from __future__ import annotations

from itertools import combinations, product
from math import log

import numpy as np
import pytest

from l2c.engine.reference import SHRINKAGE, fit_reference, from_arrays, to_arrays
from laws import SIZES, dependent_rows, layout_of


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
    everything = np.array(list(product(*map(range, SIZES))), dtype=np.int16)
    assert np.exp(law.log_likelihood(everything)).sum() == pytest.approx(1)


def test_a_typical_row_is_not_unlikely_and_a_strange_one_is(rows):
    law = fit_reference(layout_of(SIZES), rows)
    share = (law.unlikeliness(rows) > 0).mean()
    assert 0.15 <= share <= 0.26
    strange = np.array([[2, 0, 0, 0]], dtype=np.int16)
    assert law.unlikeliness(strange)[0] == pytest.approx((law.typical - law.log_likelihood(strange)[0]) / law.spread)
    assert law.unlikeliness(strange)[0] > 1


def test_no_rows_at_all_give_an_even_law():
    law = fit_reference(layout_of(SIZES), np.empty((0, 4), dtype=np.int16))
    assert all(np.allclose(table, 1 / table.shape[1]) for table in law.tables)


def test_arrays_round_trip(rows):
    law = fit_reference(layout_of(SIZES), rows)
    back = from_arrays("good", to_arrays("good", law))
    assert (back.log_likelihood(rows) == law.log_likelihood(rows)).all()
    assert (back.typical, back.spread) == (law.typical, law.spread)


def test_its_size_does_not_grow_with_the_rows(rows):
    small, large = (to_arrays("x", fit_reference(layout_of(SIZES), part)) for part in (rows[:50], rows))
    assert {name: array.shape for name, array in small.items()} == {name: array.shape for name, array in large.items()}
