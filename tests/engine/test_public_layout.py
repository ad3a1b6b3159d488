"""Public levels: made of the schema alone, and what stands for a level lies in it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from l2c import Edges, EqualFrequency, Feature, MinimalEntropy, Schema, Tree, ZeroOrPositive
from l2c.core.layout import Layout
from l2c.engine.discretise import discretise, public_layout
from l2c.errors import SchemaError


def layout_of(**settings) -> Layout:
    return public_layout(Schema((Feature(name="x", kind="numeric", **settings),)))


@st.composite
def numbers(draw):
    integer = draw(st.booleans())
    whole = st.integers(-50, 50).map(float)
    cuts = sorted(draw(st.sets(whole if integer else whole.map(lambda cut: cut / 4), min_size=2, max_size=6)))
    ends = {}
    if draw(st.booleans()):
        ends["low"] = cuts[0] - draw(st.integers(1, 9))
    if draw(st.booleans()):
        ends["high"] = cuts[-1] + draw(st.integers(1, 9))
    return {"binning": Edges(tuple(cuts)), "integer": integer, "missing": draw(st.booleans())} | ends


@given(numbers())
def test_what_stands_for_a_level_lies_in_it_and_in_the_range(settings):
    layout = layout_of(**settings)
    axis = layout.axes[0]
    values = np.array(axis.midpoint)
    assert layout.levels(values[:, None])[:, 0].tolist() == list(range(axis.known))
    assert axis.midpoint == axis.median
    assert values.min() >= settings.get("low", -np.inf)
    assert values.max() <= settings.get("high", np.inf)
    if settings["integer"]:
        assert (values == np.rint(values)).all()


@given(numbers(), st.lists(st.integers(-80, 80), min_size=1, max_size=30))
def test_rows_that_were_generalised_give_the_same_levels_again(settings, rows):
    layout = layout_of(**settings)
    cells = layout.values(layout.levels(np.array(rows, dtype=float)[:, None]), "midpoint")
    assume(cells.min() >= settings.get("low", -np.inf))
    again = discretise(layout.schema, cells, np.zeros(len(cells), dtype=np.int64)).axes[0]
    assert again.cuts == layout.axes[0].cuts
    assert np.array_equal(layout.levels(cells), layout.levels(layout.values(layout.levels(cells), "midpoint")))


def test_an_open_bin_is_taken_to_be_as_wide_as_its_neighbour():
    assert layout_of(binning=Edges((30, 40, 60))).axes[0].midpoint == (25.0, 35.0, 50.0, 70.0)
    assert layout_of(binning=Edges((30, 40)), low=0, high=100).axes[0].midpoint == (15.0, 35.0, 70.0)


def test_zero_or_positive_is_zero_and_the_middle_of_the_range():
    axis = layout_of(binning=ZeroOrPositive(), high=100).axes[0]
    assert (axis.cuts, axis.low, axis.high, axis.midpoint) == ((0.0,), None, 100.0, (0.0, 50.0))
    assert layout_of(binning=ZeroOrPositive(), low=-10, high=100).axes[0].midpoint == (0.0, 50.0)


@pytest.mark.parametrize("binning", [EqualFrequency(), MinimalEntropy(), Tree()])
def test_edges_from_data_are_refused(binning):
    with pytest.raises(SchemaError, match="those of 'x' come from data"):
        layout_of(binning=binning)


@pytest.mark.parametrize(
    "settings",
    [
        {"binning": ZeroOrPositive()},
        {"binning": ZeroOrPositive(), "high": 0},
        {"binning": Edges((5,))},
        {"binning": Edges((5,)), "high": 9},
        {"binning": Edges((5, 9)), "low": 5},
        {"binning": Edges((5, 9)), "high": 9},
    ],
)
def test_ranges_that_leave_a_bin_in_the_dark_are_refused(settings):
    with pytest.raises(SchemaError, match="feature 'x': "):
        layout_of(**settings)


def test_a_bin_without_a_whole_number_is_refused():
    with pytest.raises(SchemaError, match="there is no whole number"):
        layout_of(binning=Edges((5.2, 5.8, 9)), integer=True)
