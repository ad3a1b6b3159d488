"""What the dial turns: the weight of the reference law in proposing, and of unlikeliness in selection."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.engine.dial import (
    FULL_CANDIDATES,
    HALF_CANDIDATES,
    MIDDLE,
    RATE_AT_1,
    RATE_AT_HALF,
    Dial,
)

PLACES = st.floats(0.0, 1.0)
WEIGHTS = st.tuples(st.floats(0.0, 0.1), st.floats(0.1, 1.0))


@given(WEIGHTS, PLACES)
def test_unlikeliness_is_weighed_by_two_lines_that_meet_in_the_middle(weights, place):
    half, full = weights
    left, right = ((0.0, 0.0), (0.5, half)) if place <= 0.5 else ((0.5, half), (1.0, full))
    share = (place - left[0]) / (right[0] - left[0])
    assert Dial(half, full).unlikeliness_weight(place) == pytest.approx((1 - share) * left[1] + share * right[1])


@given(WEIGHTS)
def test_at_0_unlikeliness_costs_nothing_and_at_the_middle_and_the_end_what_was_settled(weights):
    dial = Dial(*weights)
    assert dial.unlikeliness_weight(0.0) == 0.0
    assert dial.unlikeliness_weight(MIDDLE) == pytest.approx(weights[0])
    assert dial.unlikeliness_weight(1.0) == pytest.approx(weights[1])


@given(WEIGHTS, PLACES, PLACES)
def test_unlikeliness_never_costs_less_further_on(weights, one, other):
    dial = Dial(*weights)
    assert dial.unlikeliness_weight(min(one, other)) <= dial.unlikeliness_weight(max(one, other)) + 1e-12


def test_candidates_rise_and_the_end_never_asks_for_less_than_the_middle():
    for candidates in (HALF_CANDIDATES, FULL_CANDIDATES):
        assert list(candidates) == sorted(set(candidates))
    assert HALF_CANDIDATES[-1] <= FULL_CANDIDATES[0]
    assert RATE_AT_HALF > RATE_AT_1


def test_before_it_is_settled_the_dial_asks_for_as_much_as_it_ever_may():
    assert Dial() == Dial(max(HALF_CANDIDATES), max(FULL_CANDIDATES))
