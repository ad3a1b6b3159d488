"""Where features are cut and what stands for their bins: against slow oracles, and on any column."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.binning import Edges, EqualFrequency, MinimalEntropy, Tree, ZeroOrPositive
from l2c.core.feature import Feature
from l2c.core.layout import Layout, categorical_axis
from l2c.core.schema import Schema
from l2c.engine.discretise import discretise
from l2c.engine.minimal_entropy import minimal_entropy_cuts
from l2c.engine.tree_cuts import tree_cuts
from l2c.errors import SchemaError

DATA_DRIVEN = (EqualFrequency, MinimalEntropy, Tree)


def numeric(binning, name="x", **fields):
    return Feature(name=name, kind="numeric", binning=binning, **fields)


def layout_of(feature, values, classes=None):
    cells = np.array(values, dtype=np.float64)[:, None]
    predicted = np.zeros(len(cells)) if classes is None else np.array(classes)
    return discretise(Schema((feature,)), cells, predicted.astype(np.int64))


def axis_of(feature, values, classes=None):
    return layout_of(feature, values, classes).axes[0]


def dense(codes):
    return np.unique(codes, return_inverse=True)[1]


def halving(values):
    """Return the median, or the greatest value below the largest if the median is the largest."""
    median = float(np.median(values))
    return median if median < max(values) else max(value for value in values.tolist() if value < max(values))


# Equal frequency


@pytest.mark.parametrize("seed", range(200))
def test_equal_frequency_groups_rows_as_pandas_qcut_does_or_in_halves_where_qcut_makes_one_group(seed):
    rng = np.random.default_rng(seed)
    at_most = int(rng.integers(2, 9))
    values = rng.integers(0, rng.integers(2, 60), rng.integers(2, 120)) / rng.integers(1, 11)
    if values.min() == values.max():
        values[0] -= 1
    # Quantiles are given one by one: for a number of buckets, qcut itself nudges k / q up by a rounding step.
    codes, edges = pd.qcut(values, np.arange(at_most + 1) / at_most, labels=False, retbins=True, duplicates="drop")
    layout = layout_of(numeric(EqualFrequency(at_most)), values)
    if not codes.any():
        codes, edges = values > halving(values), np.array([edges[0], halving(values), edges[-1]])
    assert layout.levels(values[:, None])[:, 0].tolist() == dense(codes).tolist()
    assert set(layout.axes[0].cuts) <= set(edges)
    assert (layout.axes[0].low, layout.axes[0].high) == (edges[0], edges[-1])


def test_equal_frequency_cuts_are_exact_and_not_rounded():
    assert axis_of(numeric(EqualFrequency(3)), [0.0, 0.1, 0.2, 0.7]).cuts == tuple(
        np.quantile([0.0, 0.1, 0.2, 0.7], [1 / 3, 2 / 3]).tolist()
    )


def test_a_cut_at_the_minimum_is_dropped_with_it():
    axis = axis_of(numeric(EqualFrequency(4)), [0, 0, 0, 0, 0, 1, 2, 3, 4])
    assert axis.cuts == (2.0,)


@pytest.mark.parametrize(("values", "cut"), [([0, 0, 0, 0, 7, 9], 0.0), ([1, 2, 9, 9, 9, 9], 2.0)])
def test_a_column_whose_quantiles_are_all_its_least_or_greatest_value_is_still_cut_once(values, cut):
    assert axis_of(numeric(EqualFrequency(2)), values).cuts == (cut,)


def test_cuts_with_no_row_between_them_merge():
    assert axis_of(numeric(EqualFrequency(4)), [0, 10]).cuts == (2.5,)


@pytest.mark.parametrize("binning", [EqualFrequency(), MinimalEntropy(), Tree()])
def test_a_constant_column_is_one_bin(binning):
    axis = axis_of(numeric(binning), [5, 5, 5], [0, 1, 0])
    assert (axis.cuts, axis.low, axis.high, axis.midpoint, axis.median) == ((), 5, 5, (5,), (5,))


# Zero or positive


def test_zero_or_positive_is_zero_and_the_median_of_what_is_positive():
    axis = axis_of(numeric(ZeroOrPositive()), [0, 0, 0, 10, 20, 90])
    assert (axis.cuts, axis.low, axis.high) == ((0.0,), 0.0, None)
    assert axis.midpoint == axis.median == (0.0, 20.0)


def test_zero_stands_for_nothing_even_if_some_rows_hold_less():
    axis = axis_of(numeric(ZeroOrPositive()), [-8, -2, 0, 3])
    assert axis.low == -8
    assert axis.midpoint == axis.median == (0.0, 3.0)


def test_zero_stands_for_nothing_even_if_the_declared_range_goes_below():
    assert axis_of(numeric(ZeroOrPositive(), low=-10), [1, 3]).midpoint == (0.0, 2.0)


def test_without_a_zero_a_negative_value_stands_for_the_first_level():
    axis = axis_of(numeric(ZeroOrPositive()), [-8, -2, -1, 3])
    assert (axis.midpoint, axis.median) == ((-4.0, 3.0), (-2.0, 3.0))


def test_a_declared_end_gives_the_positive_level_a_middle():
    axis = axis_of(numeric(ZeroOrPositive(), high=100), [0, 10, 20, 90])
    assert (axis.high, axis.midpoint, axis.median) == (100.0, (0.0, 50.0), (0.0, 20.0))


def test_zero_or_positive_has_both_levels_if_no_row_is_positive():
    assert axis_of(numeric(ZeroOrPositive()), [0, 0]).median == (0.0, 1.0)


# Minimal entropy and trees


def test_minimal_entropy_cuts_each_feature_by_the_models_answers():
    rng = np.random.default_rng(0)
    values, noise = rng.integers(0, 30, 300), rng.normal(size=300)
    classes = (values + noise > 14).astype(np.int64)
    axis = axis_of(numeric(MinimalEntropy()), values, classes)
    assert axis.cuts == minimal_entropy_cuts(values.astype(np.float64), classes) != ()


@pytest.mark.parametrize("binning", [MinimalEntropy(), Tree(30)])
@pytest.mark.parametrize(
    ("values", "cut"),
    [([1, 2, 4, 9], 3.0), ([0, 10], 5.0), ([0, 0, 0, 4, 5], 0.0), ([1, 2, 7, 7, 7, 7], 2.0)],
)
def test_a_feature_without_an_accepted_cut_is_cut_once_at_its_median_so_that_it_can_move(binning, values, cut):
    assert axis_of(numeric(binning), values).cuts == (cut,)


def tree_table():
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 30, (300, 3)).astype(np.float64)
    return cells, (cells[:, 0] + cells[:, 1] > 30).astype(np.int64)


def test_features_that_ask_for_a_tree_share_one():
    cells, classes = tree_table()
    features = [numeric(Tree(20), "a"), numeric(Tree(20), "b"), numeric(EqualFrequency(), "c")]
    layout = discretise(Schema(tuple(features)), cells, classes)
    assert tuple(axis.cuts for axis in layout.axes[:2]) == tree_cuts(cells[:, :2], classes, 20)


def test_features_that_ask_for_different_trees_do_not_share():
    cells, classes = tree_table()
    features = (numeric(Tree(20), "a"), numeric(Tree(90), "b"), numeric(Tree(20), "c"))
    layout = discretise(Schema(features), cells, classes)
    assert (layout.axes[1].cuts,) == tree_cuts(cells[:, [1]], classes, 90)
    assert layout.axes[0].cuts == tree_cuts(cells[:, [0, 2]], classes, 20)[0]


# Edges and declared ranges


def test_given_edges_are_open_at_both_ends_and_open_bins_are_spoken_of_by_their_median():
    axis = axis_of(numeric(Edges((10, 20))), [1, 2, 6, 12, 13, 40, 90, 95])
    assert (axis.cuts, axis.low, axis.high) == ((10.0, 20.0), None, None)
    assert axis.median == (2.0, 12.5, 90.0)
    assert axis.midpoint == (2.0, 15.0, 90.0)


def test_an_empty_bin_between_given_edges_is_spoken_of_by_its_middle():
    assert axis_of(numeric(Edges((10, 20))), [1, 40]).median[1] == 15.0


def test_an_empty_open_bin_is_spoken_of_a_neighbours_width_beyond_its_end():
    axis = axis_of(numeric(Edges((10, 14))), [12])
    assert axis.midpoint == axis.median == (6.0, 12.0, 18.0)


def test_an_empty_open_bin_beside_an_open_one_is_spoken_of_one_beyond_its_end():
    assert axis_of(numeric(Edges((10,))), [3]).median == (3.0, 11.0)


def test_a_declared_range_takes_the_place_of_the_outer_ends():
    narrow = axis_of(numeric(EqualFrequency(2), low=2, high=8), [0, 4, 6, 10])
    wide = axis_of(numeric(EqualFrequency(2), low=-10, high=30), [0, 4, 6, 10])
    edges = axis_of(numeric(Edges((5,)), low=0, high=8), [4, 6])
    assert (narrow.low, narrow.high, narrow.midpoint, narrow.median) == (2, 8, (3.5, 6.5), (2, 8))
    assert (wide.low, wide.high, wide.midpoint) == (-10, 30, (-2.5, 17.5))
    assert (edges.low, edges.high, edges.midpoint) == (0, 8, (2.5, 6.5))


def test_a_bin_that_a_declared_range_cuts_through_is_spoken_of_within_it():
    axis = axis_of(numeric(Edges((10, 20, 30)), low=14, high=26), [12, 13, 28, 29])
    assert axis.midpoint[1:3] == (17.0, 23.0)
    assert axis.median[1:3] == (14.0, 26.0)


def test_a_bin_outside_the_declared_range_keeps_its_own_ends():
    axis = axis_of(numeric(EqualFrequency(2), low=7), [0, 4, 6, 10])
    assert (axis.cuts, axis.low, axis.midpoint) == ((5.0,), 0.0, (2.5, 8.5))


def test_a_range_that_leaves_no_whole_number_of_a_bin_does_not_bind_it():
    axis = axis_of(numeric(Edges((10, 20)), integer=True, low=9.5, high=9.9), [4, 15, 30])
    assert axis.median == (4.0, 15.0, 30.0)


def test_a_range_beyond_the_data_is_reached_by_the_outer_bin():
    axis = axis_of(numeric(EqualFrequency(2), low=50), [0, 4, 6, 10])
    assert (axis.high, axis.midpoint, axis.median) == (50.0, (2.5, 50.0), (2.0, 50.0))


# Whole numbers


def test_a_whole_numbered_bin_is_spoken_of_by_a_whole_number_inside_it():
    axis = axis_of(numeric(Edges((16, 17, 22)), integer=True), [15, 15, 16, 17, 18, 19, 20, 21, 30])
    assert axis.midpoint == (15.0, 17.0, 20.0, 30.0)
    assert axis.median == (15.0, 17.0, 19.0, 30.0)


def test_the_lower_of_two_medians_keeps_a_whole_number_whole():
    assert axis_of(numeric(EqualFrequency(2), integer=True), [1, 2, 7, 8]).median == (1.0, 7.0)


def test_no_value_that_stands_for_a_bin_is_minus_zero():
    axis = axis_of(numeric(Edges((0,)), integer=True), [-0.0, -0.0, 4])
    assert math.copysign(1, axis.median[0]) == 1


# Missing values, other kinds, problems


def test_missing_values_are_left_out_and_have_a_level_of_their_own():
    layout = layout_of(numeric(EqualFrequency(2), missing=True), [1, np.nan, 2, 3, 4])
    assert layout.axes[0].cuts == (2.5,)
    assert layout.levels(np.array([[np.nan], [1.0]]))[:, 0].tolist() == [2, 0]


def test_minimal_entropy_leaves_out_the_answers_for_missing_values():
    values, classes = [1] * 10 + [np.nan] * 5 + [4] * 10, [0] * 10 + [2] * 5 + [1] * 10
    assert axis_of(numeric(MinimalEntropy(), missing=True), values, classes).cuts == (2.5,)


def test_features_that_are_not_numeric_keep_their_levels():
    job = Feature(name="job", kind="categorical", levels=("clerk", "nurse"), missing=True)
    layout = discretise(Schema((job,)), np.array([[0.0], [np.nan]]), np.zeros(2, dtype=np.int64))
    assert layout.axes == (categorical_axis(job),)


def test_all_problems_of_all_features_are_told_at_once():
    features = (
        numeric(EqualFrequency(), "empty", missing=True),
        numeric(Edges((16.2, 16.8, 17.1, 17.9)), "age", integer=True),
        numeric(EqualFrequency(), "fine"),
    )
    cells = np.array([[np.nan, 16.0, 1.0], [np.nan, 18.0, 2.0]])
    with pytest.raises(SchemaError) as caught:
        discretise(Schema(features), cells, np.zeros(2, dtype=np.int64))
    assert caught.value.problems == (
        "feature 'empty': no training row holds a value; drop the feature",
        "feature 'age': there is no whole number between 16.2 and 16.8; "
        "move the cut points, or declare that it is not integer",
        "feature 'age': there is no whole number between 17.1 and 17.9; "
        "move the cut points, or declare that it is not integer",
    )


# What holds for any column


@st.composite
def tables(draw):
    """A numeric feature of any binning and range, with the rows that it is cut on."""
    integer = draw(st.booleans())
    whole = st.one_of(st.integers(-6, 6), st.integers(-1000, 1000)).map(float)
    number = whole if integer else st.one_of(whole, st.floats(-1e6, 1e6), st.sampled_from([0.1, 0.2, 0.3, -0.0]))
    cuts = st.lists(number, min_size=1, max_size=4).map(lambda found: tuple(sorted({cut + 0.0 for cut in found})))
    binning = draw(
        st.one_of(
            st.integers(2, 6).map(EqualFrequency),
            st.just(ZeroOrPositive()),
            st.just(MinimalEntropy()),
            st.integers(2, 10).map(Tree),
            cuts.map(Edges),
        )
    )
    low, high = draw(st.none() | number), draw(st.none() | number)
    if low is not None and high is not None and low >= high:
        high = None
    rows = draw(st.lists(st.tuples(number, st.integers(0, 2)), min_size=1, max_size=25))
    values, classes = zip(*rows, strict=True)
    return numeric(binning, integer=integer, low=low, high=high), values, classes


def levels_of(layout: Layout, values) -> list[int]:
    return layout.levels(np.array(values, dtype=np.float64)[:, None])[:, 0].tolist()


@given(tables())
def test_every_training_value_lies_in_the_bin_of_its_level(table):
    feature, values, classes = table
    layout = layout_of(feature, values, classes)
    for value, level in zip(values, levels_of(layout, values), strict=True):
        left, right = layout.axes[0].bounds(level)
        assert level > 0 or feature.low is not None or left is None or left <= value
        assert level == 0 or left < value
        assert level < len(layout.axes[0].cuts) or feature.high is not None or right is None or value <= right
        assert level == len(layout.axes[0].cuts) or value <= right


@given(tables(), st.sampled_from(["midpoint", "median"]))
def test_what_stands_for_a_level_belongs_to_that_level(table, decode):
    layout = layout_of(*table)
    levels = np.arange(layout.axes[0].known, dtype=np.int16)[:, None]
    assert layout.levels(layout.values(levels, decode)).tolist() == levels.tolist()


@given(tables())
def test_what_stands_for_a_level_of_whole_numbers_is_whole(table):
    axis = axis_of(*table)
    assert not table[0].integer or all(value.is_integer() for value in axis.midpoint + axis.median)


@given(tables())
def test_no_bin_that_the_data_made_is_empty(table):
    feature, values, classes = table
    layout = layout_of(feature, values, classes)
    if isinstance(feature.binning, DATA_DRIVEN):
        assert set(levels_of(layout, values)) == set(range(layout.axes[0].known))


@given(tables())
def test_a_feature_that_varies_and_is_cut_by_the_data_can_always_move(table):
    feature, values, classes = table
    if isinstance(feature.binning, DATA_DRIVEN) and len(set(values)) > 1:
        assert axis_of(feature, values, classes).known > 1


@given(tables())
def test_what_stands_for_a_level_lies_in_the_declared_range_if_the_bin_reaches_into_it(table):
    feature, values, classes = table
    axis = axis_of(feature, values, classes)
    low = -math.inf if feature.low is None else feature.low
    high = math.inf if feature.high is None else feature.high
    for level, (midpoint, median) in enumerate(zip(axis.midpoint, axis.median, strict=True)):
        above, up_to = [-math.inf, *axis.cuts, math.inf][level : level + 2]
        first, last = np.nextafter(above, math.inf), up_to
        if feature.integer:
            first, last = np.ceil(first), np.floor(last)
        says_nothing = level == 0 and isinstance(feature.binning, ZeroOrPositive)
        if max(first, low) <= min(last, high) and not says_nothing:
            assert low <= midpoint <= high
            assert low <= median <= high


@given(tables())
def test_the_axis_ends_outside_its_cuts(table):
    axis = axis_of(*table)
    ends = [axis.low if axis.low is not None else -math.inf, *axis.cuts]
    ends.append(math.inf if axis.high is None else axis.high)
    assert ends == sorted(ends)
    assert not axis.cuts or ends[-2] < ends[-1]


@given(tables())
def test_the_axis_survives_being_written_as_plain_data(table):
    layout = layout_of(*table)
    assert Layout.from_dict(layout.schema, layout.to_dict()) == layout
