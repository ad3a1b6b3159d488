"""Questions: rows with what they should reach and what they may become."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from core.rooms import random_case
from core.test_goal import random_goal
from l2c.core.goal import Goal
from l2c.core.limits import Limits
from l2c.core.method import Question
from tables import SEEDS, random_cells, small_layout


def random_question(seed: int, rows: int = 6) -> tuple[Question, np.ndarray]:
    layout = small_layout()
    cells = random_cells(layout, rows, np.random.default_rng(seed))
    goal, proba = random_goal(seed, rows)
    limits = [(Limits(max_changes=2), np.arange(rows) % 2 == 0), (Limits(where="age > 20"), np.arange(rows) < 3)]
    return Question.of(layout, cells, proba, goal, decode="median", limits=limits), proba


@given(SEEDS)
def test_proposals_aim_at_the_most_likely_class_that_will_do(seed: int) -> None:
    question, proba = random_question(seed)
    for row, answer in enumerate(proba.tolist()):
        good = [label for label in range(len(answer)) if question.goal.accepted[row, label]]
        assert question.current[row] == max(range(len(answer)), key=lambda label: (answer[label], -label))
        if good:
            assert question.desired[row] == max(good, key=lambda label: (answer[label], -label))


@given(SEEDS)
def test_rows_that_are_there_already_are_marked(seed: int) -> None:
    question, proba = random_question(seed)
    assert len(question) == len(proba)
    for row, answer in enumerate(proba.tolist()):
        accepted, low, high = (part[row] for part in (question.goal.accepted, question.goal.low, question.goal.high))
        good, bad = ([p for p, will_do in zip(answer, accepted, strict=True) if will_do == what] for what in (1, 0))
        there = max(good, default=-1) > max(bad, default=-1) if np.isnan(low) else low <= sum(good) <= high
        assert question.already[row] == there


@given(SEEDS)
def test_the_room_is_that_of_the_rows_with_their_limits(seed: int) -> None:
    case = random_case(seed)
    cells, room = np.array(case.cells), case.room()
    proba = np.full((len(cells), 2), 0.5)
    question = Question.of(
        case.layout,
        cells,
        proba,
        Goal.of_classes(np.ones(len(cells), dtype=np.int64), 2),
        decode=case.decode,
        limits=[(asked.limits, np.array(asked.rows)) for asked in case.asked],
    )
    assert np.array_equal(question.levels, case.layout.levels(cells))
    assert np.array_equal(question.room.open, room.open)
    assert np.array_equal(question.room.values, room.values, equal_nan=True)
    assert np.array_equal(question.room.changes, room.changes)


@given(SEEDS)
def test_a_question_for_some_of_the_rows_is_the_same_for_them(seed: int) -> None:
    question, _ = random_question(seed)
    rows = np.random.default_rng(seed).integers(0, len(question), 4)
    some = question.take(rows)
    for name in ("cells", "levels", "current", "desired", "already"):
        assert np.array_equal(getattr(some, name), getattr(question, name)[rows], equal_nan=name == "cells")
    assert np.array_equal(some.goal.accepted, question.goal.accepted[rows])
    assert np.array_equal(some.room.open, question.room.open[rows])
    assert np.array_equal(some.room.changes, question.room.changes[rows])


def test_of_classes_that_are_equally_likely_the_first_is_aimed_at() -> None:
    layout = small_layout()
    cells = random_cells(layout, 1, np.random.default_rng(0))
    goal = Goal(np.array([[False, True, True]]), np.array([np.nan]), np.array([np.nan]))
    question = Question.of(layout, cells, np.array([[0.5, 0.25, 0.25]]), goal)
    assert (question.current.tolist(), question.desired.tolist(), question.already.tolist()) == ([0], [1], [False])
