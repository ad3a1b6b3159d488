"""A range of a predicted number as two classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.blackbox import checked, decide
from l2c.core.goal import Goal
from l2c.core.number_range import INSIDE, NumberRange
from l2c.errors import InputError

NUMBERS = st.floats(-1e6, 1e6)


@given(NUMBERS, NUMBERS, st.floats(1e-6, 1e6), st.lists(NUMBERS, min_size=1, max_size=8))
def test_a_number_is_inside_exactly_if_it_lies_between_the_ends(one, other, unit, numbers):
    wanted = NumberRange(min(one, other), max(one, other), unit)
    predictions = np.array([*numbers, wanted.low, wanted.high, np.nextafter(wanted.high, np.inf)])
    proba = checked(wanted.proba(predictions), len(predictions), 2)
    expected = [wanted.low <= number <= wanted.high for number in predictions]
    assert wanted.inside(predictions).tolist() == expected
    assert decide(proba).tolist() == [int(inside) for inside in expected]
    goal = Goal.of_classes(np.full(len(predictions), INSIDE), classes=2)
    assert goal.reached(proba).tolist() == expected


def test_the_nearer_to_the_range_the_surer():
    wanted = NumberRange(10.0, 20.0, unit=4.0)
    inside = wanted.proba(np.array([-1e9, 0.0, 8.0, 9.9, 10.0, 12.0, 15.0, 18.0, 20.0, 21.0, 1e9]))[:, INSIDE]
    assert (np.diff(inside[:7]) > 0).all()
    assert (np.diff(inside[6:]) < 0).all()
    assert inside[6] == pytest.approx(1 / (1 + np.exp(-5 / 4)))


def test_an_end_may_be_open():
    below, above = NumberRange.of((None, 5)), NumberRange.of((5, float("inf")))
    assert below.inside(np.array([-1e300, 5.0, 5.1])).tolist() == [True, True, False]
    assert above.inside(np.array([4.9, 5.0, 1e300])).tolist() == [False, True, True]
    assert (str(below), str(above), str(NumberRange(1, 2.5))) == ("at most 5", "at least 5", "1 to 2.5")


@pytest.mark.parametrize("wanted", [NumberRange(1.0, 2.0, 3.0), NumberRange.of((None, 4)), NumberRange.of((0.1, None))])
def test_it_is_kept_as_plain_data(wanted):
    assert NumberRange.from_dict(wanted.to_dict()) == wanted
    assert all(value is None or np.isfinite(value) for value in wanted.to_dict().values())


@pytest.mark.parametrize("given", [5, "15", (2, 1), (None, None), (1, 2, 3), ("a", "b"), (float("nan"), 2)])
def test_what_is_no_range_is_refused(given):
    with pytest.raises(InputError, match="desired of a predicted number is a range"):
        NumberRange.of(given)


def test_the_unit_is_how_far_predictions_spread_and_one_if_they_do_not():
    assert NumberRange(0, 1).measured_by(np.array([1.0, 3.0])).unit == 1.0
    assert NumberRange(0, 1).measured_by(np.array([0.0, 10.0])).unit == 5.0
    assert NumberRange(0, 1, 9.0).measured_by(np.array([2.0, 2.0])).unit == 1.0
    assert NumberRange(0, 1, 9.0).measured_by(np.empty(0)).unit == 1.0
