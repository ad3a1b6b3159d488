"""How an answer becomes a decision: thresholds and margins, against a slow version that looks at one row at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.blackbox import class_of, decide, threshold_of
from l2c.core.goal import Goal

SEEDS = st.integers(0, 2**32 - 1)


def random_goal(rng, rows, classes):
    accepted = rng.random((rows, classes)) < 0.5
    nothing = np.full(rows, np.nan)
    return Goal(accepted, nothing, nothing)


def coarse_proba(rng, rows, classes):
    """Return probabilities that are often equal to each other and to round thresholds."""
    parts = rng.multinomial(10, np.full(classes, 1 / classes), rows)
    return parts / 10


def slowly(accepted, proba, threshold, margin):
    """Return whether one row is where it should be."""
    if threshold is not None:
        above = round(proba[1] - threshold, 9)
        sides = [-above, above]
        leads = [sides[side] for side in (0, 1) if accepted[side]]
        if all(accepted):
            return True
        return bool(leads) and (leads[0] >= margin if margin else leads[0] > 0)
    good = [p for p, yes in zip(proba, accepted, strict=True) if yes]
    bad = [p for p, yes in zip(proba, accepted, strict=True) if not yes]
    if not good or not bad:
        return not bad
    lead = round(max(good) - max(bad), 9)
    return lead >= round(2 * margin, 9) if margin else lead > 0


@given(SEEDS, st.integers(2, 4), st.sampled_from([0.0, 0.1, 0.2]))
def test_a_class_is_reached_if_it_is_ahead_of_every_other_by_twice_the_margin(seed, classes, margin):
    rng = np.random.default_rng(seed)
    goal, proba = replace(random_goal(rng, 12, classes), margin=margin), coarse_proba(rng, 12, classes)
    expected = [slowly(*row, None, margin) for row in zip(goal.accepted, proba, strict=True)]
    assert goal.reached(proba).tolist() == expected


@given(SEEDS, st.sampled_from([0.1, 0.3, 0.5, 0.7]), st.sampled_from([0.0, 0.1]))
def test_a_threshold_decides_by_the_second_classs_probability_alone(seed, threshold, margin):
    rng = np.random.default_rng(seed)
    goal = replace(random_goal(rng, 12, 2), threshold=threshold, margin=margin)
    proba = coarse_proba(rng, 12, 2)
    expected = [slowly(*row, threshold, margin) for row in zip(goal.accepted, proba, strict=True)]
    assert goal.reached(proba).tolist() == expected


def test_on_the_threshold_neither_class_is_reached_and_the_first_is_decided():
    proba = np.array([[0.7, 0.3], [0.7, np.nextafter(0.3, 1)], [0.7, np.nextafter(0.3, 0)]])
    first, second = (replace(Goal.of_classes(np.full(3, side), 2), threshold=0.3) for side in (0, 1))
    assert first.reached(proba).tolist() == [False, False, True]
    assert second.reached(proba).tolist() == [False, True, False]
    assert decide(proba, 0.3).tolist() == [0, 1, 0]


def test_with_two_classes_a_margin_is_a_probability_beyond_one_half():
    proba = np.array([[0.4, 0.6], [0.41, 0.59], [0.3, 0.7]])
    goal = replace(Goal.of_classes(np.full(3, 1), 2), margin=0.1)
    assert goal.reached(proba).tolist() == [True, False, True]
    assert replace(goal, margin=0.2).reached(proba).tolist() == [False, False, True]


def test_threshold_and_margin_stay_when_rows_are_taken_or_a_range_is_given():
    goal = replace(Goal.of_classes(np.array([0, 1]), 2), threshold=0.3, margin=0.1)
    taken = goal.take([1, 1, 0])
    ranged = goal.within(np.array([0.2, 0.2]), np.array([0.4, 0.4]))
    assert [(part.threshold, part.margin) for part in (taken, ranged)] == [(0.3, 0.1)] * 2
    assert ranged.reached(np.array([[0.3, 0.7], [0.7, 0.3]])).tolist() == [True, True]


def test_a_black_box_says_where_it_decides_or_nothing():
    class Plain:
        classes = (0, 1)

        def proba(self, cells):
            return np.tile([0.6, 0.4], (len(cells), 1))

    class Careful(Plain):
        threshold = 0.3

    rows = np.zeros((2, 1))
    assert (threshold_of(Plain()), threshold_of(Careful())) == (None, 0.3)
    assert class_of(Plain(), rows).tolist() == [0, 0]
    assert class_of(Careful(), rows).tolist() == [1, 1]
    assert class_of(Careful(), rows[:0]).shape == (0,)


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_no_class_is_never_reached(threshold):
    goal = replace(Goal.of_classes(np.array([-1]), 2), threshold=threshold)
    assert not goal.reached(np.array([[0.1, 0.9]])).any()
