"""Limits over whole bins: permitted is what lies wholly inside, and a forbidden transition begins wherever it may."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c import Edges, Feature, Limits, Schema
from l2c.core.layout import interval_texts
from l2c.core.limits import ANY, Span
from l2c.core.whole_bins import bin_ends, over_whole_bins
from l2c.engine.discretise import public_layout

LAYOUT = public_layout(
    Schema(
        (
            Feature(name="age", kind="numeric", integer=True, binning=Edges((30, 45, 60))),
            Feature(name="hours", kind="numeric", binning=Edges((20.5, 40)), low=0, high=80, missing=True),
            Feature(name="job", kind="categorical", levels=("clerk", "nurse")),
        )
    )
)


def bins(name: str) -> list[tuple[float, float]]:
    place = LAYOUT.schema.index(name)
    return bin_ends(LAYOUT.schema.features[place], LAYOUT.axes[place])


def test_the_ends_of_bins_are_their_least_and_greatest_numbers():
    assert bins("age") == [(-np.inf, 30), (31, 45), (46, 60), (61, np.inf)]
    assert bins("hours") == [(0, 20.5), (np.nextafter(20.5, 99), 40), (np.nextafter(40, 99), 80)]


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("age", (31, 60), Span(31.0, 60.0)),
        ("age", (25, 70), Span(31.0, 60.0)),
        ("age", (32, 60), Span(46.0, 60.0)),
        ("age", (None, 50), Span(None, 45.0)),
        ("age", {"from": 46}, Span(46.0, None)),
        ("hours", (0, 50), Span(0.0, 40.0)),
    ],
)
def test_a_permitted_range_keeps_the_bins_wholly_inside(name, given, kept):
    limits, problems = over_whole_bins(Limits(permit={name: given}), LAYOUT)
    assert (dict(limits.permit), problems) == ({name: kept}, [])


def test_a_range_that_holds_no_bin_is_told_with_the_edges():
    _, problems = over_whole_bins(Limits(permit={"age": (32, 44)}), LAYOUT)
    assert problems == [
        "permit 'age': no interval lies within 32 to 44, and an interval release permits whole ones alone; "
        "the edges are 30, 45, 60"
    ]


def test_what_is_no_number_stays_as_it_is():
    given = Limits(lock=("age",), permit={"job": ["nurse"]}, forbid={"job": [("clerk", "nurse")]}, max_changes=2)
    assert over_whole_bins(given, LAYOUT) == (given, [])


def test_a_transition_begins_in_every_bin_that_it_reaches_into():
    given = Limits(forbid={"age": [((40, 50), (61, 99)), (ANY, (31, 45)), ((20, 70), 31)]})
    limits, problems = over_whole_bins(given, LAYOUT)
    assert [before for before, _ in limits.forbid["age"]] == [Span(31.0, 60.0), ANY, ANY]
    assert [after for _, after in limits.forbid["age"]] == [after for _, after in given.forbid["age"]]
    assert not problems


@given(st.floats(-50, 150), st.floats(-50, 150))
def test_every_number_of_a_kept_bin_is_permitted(one, other):
    low, high = sorted((one, other))
    limits, problems = over_whole_bins(Limits(permit={"hours": (low, high)}), LAYOUT)
    inside = [ends for ends in bins("hours") if low <= ends[0] and ends[1] <= high]
    assert bool(problems) == (not inside)
    if inside:
        span = limits.permit["hours"]
        assert (span.low, span.high) == (inside[0][0], inside[-1][1])


def test_intervals_are_told_with_their_exact_ends():
    texts = [list(interval_texts(axis)) for axis in LAYOUT.axes[:2]]
    assert texts == [
        ["up to 30", "(30, 45]", "(45, 60]", "over 60"],
        ["[0, 20.5]", "(20.5, 40]", "(40, 80]", "missing"],
    ]
