"""What counts as reached: a class, one of several, or a probability within a range, against one row at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.blackbox import decide
from l2c.core.goal import Goal, judged_by_all
from l2c.core.types import Probabilities
from tables import SEEDS


def random_goal(seed: int, rows: int = 8) -> tuple[Goal, Probabilities]:
    """Return goals of any kind, and answers in eighths: ties and edges of ranges are met, and sums are exact."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 5))
    accepted = rng.random((rows, classes)) < 0.5
    ranged = rng.random(rows) < 0.4
    ends = np.sort(rng.integers(0, 9, (rows, 2)) / 8, axis=1)
    low, high = (np.where(ranged, end, np.nan) for end in ends.T)
    return Goal(accepted, low, high), rng.multinomial(8, np.full(classes, 1 / classes), rows) / 8


@given(SEEDS)
def test_what_is_reached_and_how_near_the_rest_is(seed: int) -> None:
    goal, proba = random_goal(seed)
    reached, chance, near = goal.judged(proba)
    assert goal.reached(proba).tolist() == reached.tolist()
    assert goal.chance(proba).tolist() == chance.tolist()
    for row, answer in enumerate(proba.tolist()):
        good = [p for p, yes in zip(answer, goal.accepted[row], strict=True) if yes]
        bad = [p for p, yes in zip(answer, goal.accepted[row], strict=True) if not yes]
        low, high = goal.low[row], goal.high[row]
        assert chance[row] == sum(good)
        if np.isnan(low):
            assert reached[row] == (max(good, default=-1.0) > max(bad, default=-1.0))
            assert near[row] == sum(good)
        else:
            assert reached[row] == (low <= sum(good) <= high)
            assert near[row] == -max(low - sum(good), sum(good) - high, 0.0)


@given(SEEDS)
def test_rows_judged_in_turn_and_at_once_are_judged_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    goal, _ = random_goal(seed)
    first = rng.random(8)
    goal = replace(
        goal, accepted=goal.accepted[:, :2], threshold=rng.choice([None, 0.3, 0.5]), margin=rng.choice([0.0, 0.1])
    )
    answers = np.stack([first, 1 - first], axis=1) if rng.random() < 0.5 else np.full((8, 2), 0.5)
    for told, expected in zip(goal.judged(answers), goal.judged_at_once(answers), strict=True):
        assert told.tolist() == expected.tolist()
    for by in (0.0, 0.01, 0.2):
        assert goal.clear(answers, by).tolist() == goal.clear_at_once(answers, by).tolist()


@given(SEEDS, st.sampled_from([2, 3]), st.booleans())
def test_answers_are_judged_by_the_goals_of_the_rows_that_they_are_for(seed: int, classes: int, compiled: bool) -> None:
    rng = np.random.default_rng(seed)
    goal, proba = random_goal(seed)
    goal, row = replace(goal, accepted=goal.accepted[:, :classes]), rng.integers(0, len(proba), 30)
    answers = rng.dirichlet(np.ones(goal.accepted.shape[1]), 30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("l2c.core.goal.compiles", lambda: compiled)
        found, by_all = goal.judged(answers, row), judged_by_all(goal, [answers, answers[::-1]], row)
        clear = goal.clear(answers, 0.1, row)
    alone = [goal.take([r]).judged_at_once(answer[None, :]) for r, answer in zip(row, answers, strict=True)]
    other = [goal.take([r]).judged_at_once(answer[None, :]) for r, answer in zip(row, answers[::-1], strict=True)]
    for part in range(3):
        assert found[part].tolist() == [told[part][0] for told in alone]
        least = [min(one[part][0], two[part][0]) for one, two in zip(alone, other, strict=True)]
        assert by_all[part].tolist() == least
    alone_clear = [
        bool(goal.take([r]).clear_at_once(answer[None, :], 0.1)[0]) for r, answer in zip(row, answers, strict=True)
    ]
    assert clear.tolist() == alone_clear


@given(SEEDS)
def test_the_goal_of_one_class_is_what_the_model_decides(seed: int) -> None:
    _, proba = random_goal(seed)
    decided = decide(proba)
    alone = (proba == proba.max(axis=1, keepdims=True)).sum(axis=1) == 1
    for label in range(proba.shape[1]):
        reached = Goal.of_classes(np.full(len(proba), label), proba.shape[1]).reached(proba)
        assert reached.tolist() == ((decided == label) & alone).tolist()


def test_a_tie_with_a_class_that_will_not_do_is_not_enough() -> None:
    nothing = np.full(2, np.nan)
    goal = Goal(np.array([[True, False, False], [True, True, False]]), nothing, nothing)
    assert goal.reached(np.array([[0.4, 0.4, 0.2], [0.4, 0.4, 0.2]])).tolist() == [False, True]


def test_several_classes_together_do_not_outvote_one_that_will_not_do() -> None:
    nothing = np.full(1, np.nan)
    goal = Goal(np.array([[True, True, False]]), nothing, nothing)
    proba = np.array([[0.3, 0.3, 0.4]])
    assert goal.chance(proba).tolist() == [0.6]
    assert not goal.reached(proba).any()


def test_no_class_at_all_is_never_reached_and_every_class_always() -> None:
    nothing = np.full(2, np.nan)
    goal = Goal(np.array([[False, False], [True, True]]), nothing, nothing)
    assert goal.reached(np.array([[0.9, 0.1], [0.5, 0.5]])).tolist() == [False, True]
    assert not Goal.of_classes(np.array([-1]), 2).reached(np.array([[0.0, 1.0]])).any()


def test_a_range_counts_whatever_the_model_decides() -> None:
    goal = Goal.of_classes(np.array([1, 1, 1]), 2).within(np.full(3, 0.2), np.full(3, 0.4))
    assert goal.reached(np.array([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]])).tolist() == [True, True, False]


def test_nearness_grows_towards_the_range_from_both_sides() -> None:
    goal = Goal.of_classes(np.ones(5, dtype=np.int64), 2).within(np.full(5, 0.4), np.full(5, 0.6))
    chance = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    near = goal.judged(np.stack([1 - chance, chance], axis=1))[2]
    assert near == pytest.approx([-0.3, -0.1, 0.0, -0.1, -0.3])


def test_whoever_is_within_the_range_is_as_near_as_can_be() -> None:
    goal = Goal.of_classes(np.ones(3, dtype=np.int64), 2).within(np.full(3, 0.4), np.full(3, 0.6))
    assert goal.judged(np.array([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]]))[2].tolist() == [0.0, 0.0, 0.0]


def test_the_chance_of_one_class_is_the_very_number_of_the_model() -> None:
    proba = np.array([[0.1, 0.2 + 0.1, 0.6], [1 / 3, 1 / 3, 1 / 3]])
    assert Goal.of_classes(np.array([1, 2]), 3).chance(proba).tolist() == [proba[0, 1], proba[1, 2]]


def test_goals_are_taken_row_by_row_and_may_repeat() -> None:
    goal, proba = random_goal(3)
    rows = np.array([5, 0, 5, 2])
    taken = goal.take(rows)
    assert taken.reached(proba[rows]).tolist() == goal.reached(proba)[rows].tolist()
    assert np.array_equal(taken.low, goal.low[rows], equal_nan=True)


def test_threshold_and_margin_stay_with_some_of_the_rows() -> None:
    goal = replace(Goal.of_classes(np.array([0, 1]), 2), threshold=0.3, margin=0.1)
    assert (goal.take([1]).threshold, goal.take([1]).margin) == (0.3, 0.1)


@given(SEEDS)
def test_the_lead_is_that_of_the_best_class_that_will_do_over_the_best_that_will_not(seed: int) -> None:
    goal, proba = random_goal(seed)
    rng = np.random.default_rng(seed)
    threshold = float(rng.integers(1, 8)) / 8 if proba.shape[1] == 2 and rng.random() < 0.7 else None
    margin = float(rng.choice([0.0, 0.125, 0.25]))
    goal = replace(goal, threshold=threshold, margin=margin)
    for row, answer in enumerate(proba.tolist()):
        good = [p for p, yes in zip(answer, goal.accepted[row], strict=True) if yes]
        bad = [p for p, yes in zip(answer, goal.accepted[row], strict=True) if not yes]
        if not good or not bad:
            lead = np.inf if good else -np.inf
        elif threshold is None:
            lead = max(good) - max(bad)
        else:
            lead = 2 * (answer[1] - threshold if goal.accepted[row, 1] else threshold - answer[1])
        assert goal.lead(proba)[row] == lead
        if np.isnan(goal.low[row]):
            assert goal.reached(proba)[row] == (lead >= 2 * margin if margin else lead > 0)


def test_a_decision_has_a_lead_that_a_margin_may_ask_for() -> None:
    goal = Goal.of_classes(np.array([2]), 3)
    proba = np.array([[0.1, 0.3, 0.6]])
    assert goal.lead(proba) == pytest.approx([0.3])
    assert [bool(replace(goal, margin=margin).reached(proba)[0]) for margin in (0.1, 0.14, 0.16)] == [True, True, False]


def test_a_margin_that_is_met_but_for_rounding_is_met() -> None:
    goal = replace(Goal.of_classes(np.array([1]), 2), margin=0.1)
    assert 0.6 - 0.4 < 0.2
    assert goal.reached(np.array([[0.4, 0.6]])).all()


@given(SEEDS)
def test_what_is_clear_is_judged_alike_by_answers_that_are_a_little_off(seed: int) -> None:
    rng, by = np.random.default_rng(seed), 10.0 ** -(2 + seed % 5)
    goal, proba = random_goal(seed)
    if proba.shape[1] == 2 and rng.random() < 0.5:
        goal = replace(goal, threshold=0.375, margin=0.125 * (rng.random() < 0.5))
    near = proba + rng.uniform(-1, 1, proba.shape) * by * rng.choice([0.1, 3.0], (len(proba), 1))
    off = near + rng.uniform(-0.3, 0.3, proba.shape) * by
    clear = goal.clear(near, by)
    assert goal.reached(near)[clear].tolist() == goal.reached(off)[clear].tolist()
    assert decide(near, goal.threshold)[clear].tolist() == decide(off, goal.threshold)[clear].tolist()
    assert clear.tolist() == goal.clear_at_once(near, by).tolist()


def test_answers_on_the_end_of_a_range_are_not_clear_and_others_are():
    goal = Goal.of_classes(np.ones(5, dtype=np.int64), classes=2)
    goal = goal.within(np.array([0.6, 0.6, 0.6, 0.6, np.nan]), np.array([0.8, 0.8, 0.8, 0.8, np.nan]))
    second = np.array([0.6004, 0.7, 0.7997, 0.5, 0.6])
    assert goal.clear(np.stack([1 - second, second], axis=1), 1e-3).tolist() == [False, True, False, False, True]


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_where_two_classes_are_nearly_as_probable_it_is_not_clear_which_one_it_is_within_a_range_too(threshold):
    middle = 0.5 if threshold is None else threshold
    second = middle + np.array([-0.0004, 0.0, 0.0004, 0.0006])
    goal = Goal.of_classes(np.ones(4, dtype=np.int64), classes=2).within(np.full(4, 0.1), np.full(4, 0.9))
    proba = np.stack([1 - second, second], axis=1)
    assert replace(goal, threshold=threshold).clear(proba, 1e-3).tolist() == [False, False, False, True]


def test_of_several_classes_that_will_do_it_must_be_clear_which_one_it_is():
    goal = replace(Goal.of_classes(np.array([0, 0]), classes=3), accepted=np.array([[True, True, False]] * 2))
    assert goal.clear(np.array([[0.4502, 0.45, 0.0998], [0.5, 0.4, 0.1]]), 1e-3).tolist() == [False, True]


@pytest.mark.parametrize("classes", [2, 3])
def test_a_range_does_not_end_where_no_probability_lies_beyond(classes):
    goal = Goal.of_classes(np.ones(3, dtype=np.int64), classes)
    goal = goal.within(np.array([0.9, 0.0, 0.9]), np.array([1.0, 0.1, 0.9999]))
    second = np.array([0.99999, 0.00001, 0.99999])
    proba = np.zeros((3, classes))
    proba[:, 0], proba[:, 1] = 1 - second, second
    assert goal.clear(proba, 1e-3).tolist() == [True, True, False]
    both = replace(goal, accepted=np.array([[True, True, False][:classes]] * 3))
    assert not both.clear(proba, 1e-3)[0]  # sums may come out above 1
