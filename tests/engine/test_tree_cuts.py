"""A shared tree's cuts, against how the tree itself groups the rows."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from l2c.engine.tree_cuts import tree_cuts
from l2c.errors import MissingExtraError


def columns_and_classes(seed, rows=150, scale=1.0, offset=0.0):
    rng = np.random.default_rng(seed)
    cells = np.column_stack([rng.integers(0, 40, rows), rng.normal(size=rows), rng.integers(0, 3, rows)])
    noise = rng.normal(size=rows)
    classes = ((cells[:, 0] - 20) / 12 + cells[:, 1] * (cells[:, 2] - 1) + noise > 0).astype(np.int64)
    return cells * scale + offset, classes


def levels(cells, cuts):
    return np.column_stack([np.searchsorted(np.array(c), column) for c, column in zip(cuts, cells.T, strict=True)])


def grown(cells, classes, min_split):
    tree = DecisionTreeClassifier(criterion="entropy", min_samples_split=min_split, random_state=0)
    return tree.fit(cells, classes)


def assert_separates_as_the_tree_does(cells, classes, min_split):
    """Every node's question is a boundary between levels, and there is no boundary but these."""
    cuts = tree_cuts(cells, classes, min_split)
    tree = grown(cells, classes, min_split).tree_
    found = levels(cells, cuts)
    for i in range(cells.shape[1]):
        asked = {tuple(cells[:, i].astype(np.float32) <= threshold) for threshold in tree.threshold[tree.feature == i]}
        assert asked == {tuple(found[:, i] < level) for level in range(1, len(cuts[i]) + 1)}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("min_split", [2, 30])
def test_the_levels_separate_the_rows_as_the_nodes_of_the_tree_do(seed, min_split):
    cells, classes = columns_and_classes(seed)
    assert_separates_as_the_tree_does(cells, classes, min_split)


def test_rows_with_equal_levels_end_in_the_same_leaf():
    cells, classes = columns_and_classes(0)
    leaves = grown(cells, classes, 20).apply(cells)
    by_levels = {}
    for row, leaf in zip(levels(cells, tree_cuts(cells, classes, 20)), leaves, strict=True):
        by_levels.setdefault(tuple(row), set()).add(leaf)
    assert all(len(reached) == 1 for reached in by_levels.values())


@pytest.mark.parametrize("offset", [2.0**26, 1e9, -1e9])
def test_numbers_that_32_bits_cannot_tell_apart_are_separated_as_the_tree_does(offset):
    cells, classes = columns_and_classes(3, scale=5.0, offset=offset)
    assert len(np.unique(cells.astype(np.float32))) < len(np.unique(cells))
    assert_separates_as_the_tree_does(cells, classes, 2)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=30),
    st.integers(2, 12),
)
def test_any_small_table_is_separated_as_the_tree_does(rows, min_split):
    table = np.array(rows)
    assert_separates_as_the_tree_does(table[:, :2] / 3, table[:, 2], min_split)


def test_the_cuts_rise_and_a_feature_that_does_not_matter_has_none():
    cells, classes = columns_and_classes(1)
    cuts = tree_cuts(np.column_stack([cells, np.ones(len(cells))]), classes, 10)
    assert all(list(found) == sorted(set(found)) for found in cuts)
    assert cuts[-1] == ()


def test_a_larger_minimum_split_gives_fewer_cuts():
    cells, classes = columns_and_classes(2)
    assert sum(map(len, tree_cuts(cells, classes, 60))) < sum(map(len, tree_cuts(cells, classes, 2)))


def test_rows_with_a_missing_value_are_left_out_of_the_tree():
    cells, classes = columns_and_classes(4)
    holed = np.vstack([cells, [[np.nan, 0.0, 1.0], [3.0, np.nan, 2.0]]])
    found = tree_cuts(holed, np.append(classes, [0, 1]), 20)
    assert [len(c) for c in found] == [len(c) for c in tree_cuts(cells, classes, 20)]


def test_without_a_complete_row_there_are_no_cuts():
    assert tree_cuts(np.array([[1.0, np.nan], [np.nan, 2.0]]), np.array([0, 1]), 2) == ((), ())


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(
        MissingExtraError, match=r'Tree discretisation needs scikit-learn: pip install "l2c\[sklearn\]"'
    ):
        tree_cuts(np.ones((2, 1)), np.array([0, 1]), 2)
