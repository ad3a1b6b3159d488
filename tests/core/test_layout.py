"""Levels, the flat one-hot axis, and the way back to values."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.binning import Edges, EqualFrequency, MinimalEntropy, Tree, ZeroOrPositive
from l2c.core.feature import Feature
from l2c.core.layout import Axis, Layout, categorical_axis, interval, stand_ins
from l2c.core.schema import Schema
from tables import SEEDS, layouts, numeric_axis, random_cells, random_levels, small_layout


def slow_level(feature: Feature, axis: Axis, value: float) -> int:
    if math.isnan(value):
        return axis.known
    if not feature.numeric:
        return int(value)
    level = 0
    for cut in axis.cuts:
        if value > cut:
            level += 1
    return level


@given(layouts(), SEEDS)
def test_the_level_of_a_number_is_how_many_cuts_lie_strictly_below_it(layout, seed):
    cells = random_cells(layout, 12, np.random.default_rng(seed))
    expected = [
        [
            slow_level(feature, axis, value)
            for feature, axis, value in zip(layout.schema.features, layout.axes, row, strict=True)
        ]
        for row in cells.tolist()
    ]
    assert layout.levels(cells).tolist() == expected


def test_bins_are_closed_on_the_right_and_open_beyond_the_outer_ends():
    layout = Layout(Schema((Feature(name="x", kind="numeric"),)), (numeric_axis((30.0, 45.0), low=18.0, high=80.0),))
    numbers = np.array([-9.0, 18.0, 30.0, np.nextafter(30.0, 31.0), 45.0, 45.5, 80.0, 1e9])
    assert layout.levels(numbers[:, None])[:, 0].tolist() == [0, 0, 0, 1, 1, 2, 2, 2]


@given(layouts(), SEEDS)
def test_levels_of_a_block_of_draws_are_those_of_its_rows(layout, seed):
    cells = random_cells(layout, 12, np.random.default_rng(seed))
    assert (layout.levels(cells.reshape(3, 4, -1)) == layout.levels(cells).reshape(3, 4, -1)).all()


@given(layouts(), SEEDS, st.sampled_from(["auto", "median", "midpoint"]))
def test_the_value_that_stands_for_a_level_lies_in_that_level(layout, seed, decode):
    levels = random_levels(layout, (12,), np.random.default_rng(seed))
    assert (layout.levels(layout.values(levels, decode)) == levels).all()


def test_median_and_midpoint_are_two_ways_back():
    layout = small_layout()
    levels = np.array([[1, 0, 2, 1, 0]], dtype=np.int16)
    assert layout.values(levels, "midpoint").tolist() == [[37.5, 96.0, 2.0, 1.0, 0.0]]
    assert layout.values(levels, "median").tolist() == [[33.75, 94.0, 2.0, 1.0, 0.0]]


def cut_by_two() -> Layout:
    """Return one feature that data cut, one that a person did, and one that is not numeric."""
    features = (
        Feature(name="age", kind="numeric"),
        Feature(name="debt", kind="numeric", binning=Edges((100.0,)), missing=True),
        Feature(name="sex", kind="binary", levels=("f", "m")),
    )
    axes = (
        numeric_axis((30.0, 45.0), low=18.0, high=80.0),
        numeric_axis((100.0,), low=0.0, high=500.0, missing=True),
        categorical_axis(features[2]),
    )
    return Layout(Schema(features), axes)


def test_auto_is_the_median_where_data_made_the_edges_and_the_midpoint_where_a_person_gave_them():
    layout = cut_by_two()
    levels = np.array([[1, 1, 1], [2, 0, 0]], dtype=np.int16)
    assert layout.values(levels, "auto").tolist() == [[33.75, 300.0, 1.0], [53.75, 50.0, 0.0]]
    assert layout.values(levels, "auto", other=True).tolist() == [[37.5, 200.0, 1.0], [62.5, 25.0, 0.0]]


@pytest.mark.parametrize(
    "binning", [EqualFrequency(3), ZeroOrPositive(), MinimalEntropy(), Tree(5), Edges((1.0,), source="a law")]
)
def test_only_given_edges_make_auto_choose_the_midpoint(binning):
    feature, axis = Feature(name="x", kind="numeric", binning=binning), numeric_axis((1.0,), low=0.0, high=4.0)
    expected = axis.midpoint if isinstance(binning, Edges) else axis.median
    assert stand_ins(feature, axis, "auto") == expected != stand_ins(feature, axis, "auto", other=True)


@given(layouts(), st.sampled_from([("median", "midpoint"), ("midpoint", "median")]))
def test_the_other_value_is_that_of_the_other_way_back(layout, ways):
    one, other = ways
    expected = layout.representatives(other)
    assert np.array_equal(layout.representatives(one, other=True), expected, equal_nan=True)
    fixed = ~np.array([feature.numeric for feature in layout.schema.features])[layout.owner]
    assert np.array_equal(layout.representatives(one)[fixed], expected[fixed], equal_nan=True)


@given(layouts(), SEEDS, st.sampled_from(["auto", "median", "midpoint"]))
def test_both_values_that_stand_for_a_level_lie_in_that_level(layout, seed, decode):
    levels = random_levels(layout, (12,), np.random.default_rng(seed))
    assert (layout.levels(layout.values(levels, decode, other=True)) == levels).all()


@given(layouts(), SEEDS)
def test_one_hot_has_one_place_per_feature_at_its_offset_plus_its_level(layout, seed):
    levels = random_levels(layout, (6,), np.random.default_rng(seed))
    hot = layout.one_hot(levels)
    assert hot.dtype == np.float32
    for row, picked in zip(hot.tolist(), levels.tolist(), strict=True):
        expected: list[float] = []
        for axis, level in zip(layout.axes, picked, strict=True):
            expected += [1.0 if j == level else 0.0 for j in range(axis.size)]
        assert row == expected


@given(layouts())
def test_the_flat_axis_is_the_features_axes_end_to_end(layout):
    owner = [i for i, axis in enumerate(layout.axes) for _ in range(axis.size)]
    assert layout.width == len(owner) == sum(len(axis.midpoint) + axis.missing for axis in layout.axes)
    assert layout.owner.tolist() == owner
    assert layout.offsets.tolist() == [owner.index(i) for i in range(len(layout.axes))]


@given(layouts())
def test_only_the_last_place_of_a_feature_with_missing_values_stands_for_none(layout):
    expected = [j < axis.known for axis in layout.axes for j in range(axis.size)]
    assert layout.stands_for_a_value.tolist() == expected
    assert (~np.isnan(layout.representatives("median"))).tolist() == expected


@given(layouts())
def test_a_layout_is_equal_after_a_trip_through_json(layout):
    data = json.loads(json.dumps(layout.to_dict()))
    assert Layout.from_dict(layout.schema, data) == layout


@pytest.mark.parametrize(
    ("feature", "level", "words"),
    [
        ("age", 0, "18 – 30"),
        ("age", 1, "30 – 45"),
        ("age", 2, "45 – 80"),
        ("debt", 0, "up to 100"),
        ("debt", 1, "over 100"),
        ("debt", 2, "missing"),
        ("job", 1, "nurse"),
        ("job", 3, "missing"),
        ("sex", 1, "m"),
    ],
)
def test_a_level_is_spoken_of_by_its_interval_or_its_name(feature, level, words):
    layout = small_layout()
    assert layout.text(layout.schema.index(feature), level) == words


def test_a_bin_of_one_value_is_spoken_of_by_that_value():
    layout = Layout(Schema((Feature(name="gain", kind="numeric"),)), (numeric_axis((0.0,), low=0.0, high=None),))
    assert [layout.text(0, level) for level in (0, 1)] == ["0", "over 0"]


def test_large_numbers_keep_their_digits_and_sums_lose_their_noise():
    assert interval(1234567.25, 2345678.0) == "1234567.25 – 2345678"
    assert interval(0.1 + 0.2, None) == "over 0.3"


def test_a_level_with_a_label_is_spoken_of_by_its_label():
    feature = Feature(name="job", kind="binary", levels=(0, 1), labels=("no job", "a job"))
    layout = Layout(Schema((feature,)), (categorical_axis(feature),))
    assert [layout.text(0, level) for level in (0, 1)] == ["no job", "a job"]


@given(layouts())
def test_neighbouring_bins_share_an_end_and_hold_what_stands_for_them(layout):
    for feature, axis in zip(layout.schema.features, layout.axes, strict=True):
        if feature.numeric:
            bounds = [axis.bounds(level) for level in range(axis.known)]
            assert bounds[0][0] == axis.low
            assert bounds[-1][1] == axis.high
            assert [right for _, right in bounds[:-1]] == [left for left, _ in bounds[1:]] == list(axis.cuts)
