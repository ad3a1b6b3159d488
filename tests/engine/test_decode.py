"""Levels back to values (equation 4)."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.feature import Feature
from l2c.core.layout import Decode, Layout
from l2c.core.schema import Schema
from l2c.engine.decode import decode_levels
from tables import SEEDS, layouts, numeric_axis, question_for, random_cells, random_levels


def same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


def decoded(layout: Layout, cells: np.ndarray, after: np.ndarray, decode: Decode = "median") -> np.ndarray:
    """Return the values of one proposal for each row."""
    return decode_levels(layout, after, question_for(layout, cells, decode=decode).room.values, np.arange(len(cells)))


@given(layouts(), SEEDS, st.sampled_from(["median", "midpoint"]))
def test_a_changed_level_has_its_value_within_the_range_and_an_unchanged_one_the_persons_own(layout, seed, decode):
    rng = np.random.default_rng(seed)
    cells = random_cells(layout, 5, rng)
    own, after = layout.levels(cells), random_levels(layout, (5,), rng)
    values = decoded(layout, cells, after, decode)
    for row in range(5):
        for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
            stands = [*getattr(axis, decode), math.nan][after[row, i]]
            if feature.low is not None and stands < feature.low:
                stands = feature.low
            if feature.high is not None and stands > feature.high:
                stands = feature.high
            expected = cells[row, i] if after[row, i] == own[row, i] else stands
            assert same(values[row, i], expected)


@given(layouts(), SEEDS)
def test_an_unchanged_row_comes_back_to_the_bit(layout, seed):
    cells = random_cells(layout, 5, np.random.default_rng(seed))
    assert decoded(layout, cells, layout.levels(cells)).tobytes() == cells.tobytes()


@given(layouts(ranges=False), SEEDS)
def test_decoding_and_cutting_again_gives_the_same_levels(layout, seed):
    rng = np.random.default_rng(seed)
    cells, after = random_cells(layout, 5, rng), random_levels(layout, (5,), rng)
    assert (layout.levels(decoded(layout, cells, after)) == after).all()


@given(layouts(), SEEDS)
def test_within_ranges_too_what_may_be_taken_is_cut_to_the_same_levels(layout, seed):
    rng = np.random.default_rng(seed)
    question = question_for(layout, random_cells(layout, 5, rng))
    after = random_levels(layout, (5,), rng)
    open_to = np.take_along_axis(question.room.open, after + layout.offsets, axis=1)
    after = np.where(open_to, after, question.levels)
    assert (layout.levels(decode_levels(layout, after, question.room.values, np.arange(5))) == after).all()


@given(layouts(), SEEDS)
def test_several_proposals_for_some_rows_are_decoded_like_each_alone(layout, seed):
    rng = np.random.default_rng(seed)
    cells = random_cells(layout, 3, rng)
    row, after = np.array([2, 0, 2, 2]), random_levels(layout, (4,), rng)
    values = decode_levels(layout, after, question_for(layout, cells).room.values, row)
    for k, one in enumerate(row):
        alone = decoded(layout, cells[one][None], after[k][None])
        assert all(map(same, values[k].tolist(), alone[0].tolist()))


def test_on_bins_of_equal_width_the_midpoint_is_the_papers_formula():
    a, b, c = 10.0, 50.0, 4
    axis = numeric_axis(tuple(a + k * (b - a) / c for k in range(1, c)), low=a, high=b)
    layout = Layout(Schema((Feature(name="x", kind="numeric"),)), (axis,))
    cells = np.array([[12.5]])
    for k in range(2, c + 1):
        expected = a + (2 * k - 1) * (b - a) / (2 * c)
        assert decoded(layout, cells, np.array([[k - 1]], dtype=np.int16), "midpoint")[0, 0] == expected
    assert decoded(layout, cells, np.zeros((1, 1), dtype=np.int16), "midpoint")[0, 0] == 12.5
