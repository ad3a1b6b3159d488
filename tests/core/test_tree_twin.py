"""Leaves by bits, against a walk down every tree; compiled, in numpy and as plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiling import uncompiled
from l2c.core import tree_twin
from l2c.core.compiled import compiles
from l2c.core.layout import Layout
from l2c.core.tree_twin import EVERY, MOST_LEAVES, STRANDS, Cuts, TreeTwin, slot_of
from tables import SEEDS, layouts, random_cells, random_levels


class Tree:
    """A tree grown at random over the levels and numbers of a layout, walked down as trees are."""

    def __init__(self, layout: Layout, depth: int, rng: np.random.Generator) -> None:
        self.feature = int(rng.integers(0, len(layout.axes)))
        self.numeric = bool(layout.numeric[self.feature])
        self.levels = rng.random(layout.sizes[self.feature]) < 0.5
        self.cut, self.falling = float(np.round(rng.normal(0, 2), 1)), bool(rng.random() < 0.3)
        inner = rng.random(2) < 0.8 if depth > 1 else (False, False)
        self.sides: list[Any] = [Tree(layout, depth - 1, rng) if deep else float(rng.normal()) for deep in inner]

    def passes(self, value: float, level: int) -> bool:
        if self.numeric and not np.isnan(value):
            return value >= self.cut if self.falling else value <= self.cut
        return bool(self.levels[level])

    def ends_in(self, cells: np.ndarray, levels: np.ndarray) -> float:
        side = self.sides[0 if self.passes(cells[self.feature], levels[self.feature]) else 1]
        return side.ends_in(cells, levels) if isinstance(side, Tree) else side

    def leaves(self) -> list[float]:
        return [leaf for side in self.sides for leaf in (side.leaves() if isinstance(side, Tree) else [side])]

    def tests(self, begin: int) -> list[tuple[Tree, int]]:
        """Return all tests, each with the leaves that one that fails leaves open."""
        left, right = self.sides
        many = len(left.leaves()) if isinstance(left, Tree) else 1
        kept = int(EVERY) & ~(((1 << many) - 1) << begin)
        below = [(side, start) for side, start in ((left, begin), (right, begin + many)) if isinstance(side, Tree)]
        return [(self, kept), *(test for side, start in below for test in side.tests(start))]


def twin_of(layout: Layout, grown: list[Tree], base: float) -> TreeTwin:
    trees = -(-len(grown) // STRANDS) * STRANDS
    value, known = np.zeros((trees, MOST_LEAVES)), np.full((layout.width, trees), EVERY, dtype=np.uint64)
    numeric = layout.numeric[layout.owner] & layout.stands_for_a_value
    tests: list[tuple[int, int, float, bool, int]] = []
    for t, tree in enumerate(grown):
        for place, leaf in enumerate(tree.leaves()):
            value[t, slot_of(place)] = leaf
        for test, kept in tree.tests(0):
            begin = int(layout.offsets[test.feature])
            for level, left in enumerate(test.levels):
                if not left and not numeric[begin + level]:
                    known[begin + level, t] &= np.uint64(kept)
            if test.numeric:
                tests.append((test.feature, t, test.cut, test.falling, kept))
    tests.sort(key=lambda test: test[0])
    feature, tree, cut, falling, kept = (list(part) for part in zip(*tests, strict=True)) if tests else ([],) * 5
    starts = np.searchsorted(np.array(feature, dtype=np.int64), np.arange(len(layout.axes) + 1))
    cuts = Cuts(
        starts, np.array(tree, dtype=np.int64), np.array(cut, dtype=np.float64), np.array(falling, dtype=bool),
        np.array(kept, dtype=np.uint64),
    )  # fmt: skip
    return TreeTwin(layout, base, value, known, numeric, cuts, 1e-5)


@given(layouts(), SEEDS, st.integers(1, 9), st.integers(1, 6))
def test_a_twin_ends_in_the_leaf_that_a_walk_down_the_tree_ends_in(layout, seed, trees, depth):
    rng = np.random.default_rng(seed)
    grown = [Tree(layout, depth, rng) for _ in range(trees)]
    twin, rows = twin_of(layout, grown, 0.3), 5
    levels, row = random_levels(layout, (20,), rng), rng.integers(0, rows, 20)
    values = np.tile(layout.representatives("median"), (rows, 1))
    own = random_cells(layout, rows, rng)
    np.put_along_axis(values, layout.levels(own) + layout.offsets, own, axis=1)
    values[:, twin.numeric] += np.round(rng.normal(0, 1, (rows, int(twin.numeric.sum()))), 1) * (rng.random() < 0.5)
    found = every_way(lambda: twin.proba(twin.inputs(values), row, levels))
    for n in range(20):
        cells = values[row[n], levels[n] + layout.offsets]
        lead = 0.3 + sum(tree.ends_in(cells, levels[n]) for tree in grown)
        np.testing.assert_allclose(found[0][n], [1 - 1 / (1 + np.exp(-lead)), 1 / (1 + np.exp(-lead))], atol=1e-12)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    whole = every_way(lambda: twin.of_cells(own))
    lead = np.array(
        [0.3 + sum(tree.ends_in(c, x) for tree in grown) for c, x in zip(own, layout.levels(own), strict=True)]
    )
    for told in whole:
        np.testing.assert_allclose(told[:, 1], 1 / (1 + np.exp(-lead)), atol=1e-12)


def every_way(call: Any) -> list[Any]:
    """Return what a call comes to: as numpy does it, and where loops are compiled also so, and as plain Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_twin, "compiles", lambda: False)
        found = [call()]
    if compiles():
        found.append(call())
        with uncompiled(tree_twin), np.errstate(over="ignore"):
            found.append(call())
    return found


@pytest.mark.skipif(not compiles(), reason="numba is not installed")
def test_a_number_that_many_rows_share_is_worked_out_once():
    values = np.array([[1.0, 5.0, 0.0], [1.0, 6.0, 0.0], [2.0, 5.0, 0.0], [1.0, 5.0, 0.0]])
    at, place, number = tree_twin.lines_needed(values, np.array([True, True, False]))
    assert sorted(zip(place.tolist(), number.tolist(), strict=True)) == [(0, 1.0), (0, 2.0), (1, 5.0), (1, 6.0)]
    assert at[0].tolist() == at[3].tolist()
    assert at[:, 2].tolist() == [2, 2, 2, 2]
