"""Levels back to values (equation 4)."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.feature import Feature
from l2c.core.layout import Layout
from l2c.core.schema import Schema
from l2c.engine.decode import decode_levels
from tables import SEEDS, layouts, numeric_axis, random_cells, random_levels


def same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


@given(layouts(), SEEDS, st.sampled_from(["median", "midpoint"]))
def test_a_changed_level_has_its_representative_and_an_unchanged_one_the_persons_own_value(layout, seed, decode):
    rng = np.random.default_rng(seed)
    cells = random_cells(layout, 5, rng)
    own, after = layout.levels(cells), random_levels(layout, (5,), rng)
    values = decode_levels(layout, after, cells, own, decode)
    for row in range(5):
        for i, axis in enumerate(layout.axes):
            stands = [*getattr(axis, decode), math.nan][after[row, i]]
            expected = cells[row, i] if after[row, i] == own[row, i] else stands
            assert same(values[row, i], expected)


@given(layouts(), SEEDS)
def test_an_unchanged_row_comes_back_to_the_bit(layout, seed):
    cells = random_cells(layout, 5, np.random.default_rng(seed))
    own = layout.levels(cells)
    assert decode_levels(layout, own, cells, own, "median").tobytes() == cells.tobytes()


@given(layouts(), SEEDS)
def test_decoding_and_cutting_again_gives_the_same_levels(layout, seed):
    rng = np.random.default_rng(seed)
    cells = random_cells(layout, 5, rng)
    own, after = layout.levels(cells), random_levels(layout, (5,), rng)
    assert (layout.levels(decode_levels(layout, after, cells, own, "median")) == after).all()


@given(layouts(), SEEDS)
def test_a_block_of_draws_is_decoded_row_by_row(layout, seed):
    rng = np.random.default_rng(seed)
    cells = random_cells(layout, 3, rng)
    own, after = layout.levels(cells), random_levels(layout, (3, 4), rng)
    values = decode_levels(layout, after, cells[:, None], own[:, None], "median")
    for row in range(3):
        for draw in range(4):
            alone = decode_levels(layout, after[row, draw][None], cells[row][None], own[row][None], "median")
            assert all(map(same, values[row, draw].tolist(), alone[0].tolist()))


def test_on_bins_of_equal_width_the_midpoint_is_the_papers_formula():
    a, b, c = 10.0, 50.0, 4
    axis = numeric_axis(tuple(a + k * (b - a) / c for k in range(1, c)), low=a, high=b)
    layout = Layout(Schema((Feature(name="x", kind="numeric"),)), (axis,))
    own, cells = np.zeros((1, 1), dtype=np.int16), np.array([[12.5]])
    for k in range(2, c + 1):
        level = np.array([[k - 1]], dtype=np.int16)
        expected = a + (2 * k - 1) * (b - a) / (2 * c)
        assert decode_levels(layout, level, cells, own, "midpoint")[0, 0] == expected
    assert decode_levels(layout, own, cells, own, "midpoint")[0, 0] == 12.5
