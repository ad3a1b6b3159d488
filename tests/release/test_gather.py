"""A release over all rows, from one over the rows that could be read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from l2c.core.explanation import Measured, Outcome, Released
from l2c.release.gather import with_answers_of, with_unreadable
from tables import random_question, small_layout


def a_release(rows: int) -> Released:
    """Return a release in which every row has two counterfactuals, equal to the row itself."""
    layout = small_layout()
    question = random_question(layout, rows, np.random.default_rng(0))
    row = np.repeat(np.arange(rows), 2)
    return Released(
        layout=layout,
        classes=("refused", "granted"),
        asked=2,
        factual=question.cells,
        current=question.current,
        desired=question.desired,
        goal=question.goal.within(np.full(rows, 0.5), np.arange(rows) / 8 + 0.5),
        outcomes=tuple(Outcome("found", "2 different counterfactuals", 2, 10 + each) for each in range(rows)),
        row=row,
        rank=np.tile([1, 2], rows),
        levels=question.levels[row],
        cells=question.cells[row],
        chance=np.linspace(0.6, 0.9, 2 * rows),
        predicted=np.ones(2 * rows, dtype=np.int64),
        valid=np.ones(2 * rows, dtype=bool),
    )


def test_unreadable_rows_stand_at_their_places_with_what_is_wrong_with_them():
    released = a_release(3)
    whole = with_unreadable(released, np.array([1, 2, 4]), {0: "row 0: no number", 3: "row 3: no job"}, rows=5)
    assert [outcome.status for outcome in whole.outcomes] == ["bad_input", "found", "found", "bad_input", "found"]
    assert [whole.outcomes[row].sentence for row in (0, 3)] == ["row 0: no number", "row 3: no job"]
    assert [whole.outcomes[row] for row in (1, 2, 4)] == list(released.outcomes)
    assert whole.row.tolist() == [1, 1, 2, 2, 4, 4]
    assert whole.current.tolist() == [-1, 0, 0, -1, 0]
    assert whole.desired.tolist() == [-1, 1, 1, -1, 1]
    assert whole.goal.accepted.sum(axis=1).tolist() == [0, 1, 1, 0, 1]
    assert whole.goal.accepted[:, 1].tolist() == [False, True, True, False, True]
    assert np.array_equal(whole.goal.low, [np.nan, 0.5, 0.5, np.nan, 0.5], equal_nan=True)
    assert np.array_equal(whole.goal.high, [np.nan, 0.5, 0.625, np.nan, 0.75], equal_nan=True)
    assert np.isnan(whole.factual[[0, 3]]).all()
    assert np.array_equal(whole.factual[[1, 2, 4]], released.factual, equal_nan=True)
    assert whole.answered.tolist() == [False, True, True, False, True]
    assert (whole.tries, whole.rank.tolist()) == (released.tries, released.rank.tolist())
    assert whole.cells is released.cells


def test_if_no_row_can_be_read_every_row_says_so():
    whole = with_unreadable(a_release(0), np.array([], dtype=np.int64), {0: "a", 1: "b"}, rows=2)
    assert [outcome.sentence for outcome in whole.outcomes] == ["a", "b"]
    assert len(whole.row) == 0
    assert whole.factual.shape == (2, 5)


def test_if_every_row_can_be_read_nothing_changes():
    released = a_release(2)
    whole = with_unreadable(released, np.array([0, 1]), {}, rows=2)
    assert whole.outcomes == released.outcomes
    assert (whole.row == released.row).all()


def test_some_rows_get_the_answers_of_another_release_and_the_others_keep_theirs():
    one, other = a_release(4), a_release(4)
    which = np.array([True, False, False, True])
    numbers = Measured(np.arange(4.0), np.arange(8.0))
    one = replace(one, measured=numbers, share_valid=np.full(8, 0.5), coarse=np.zeros(4, dtype=np.int64))
    # The other has three for its last row, none for its first, and says something else of everything.
    row = np.array([1, 1, 2, 2, 3, 3, 3])
    other = replace(
        other,
        current=1 - other.current,
        desired=1 - other.desired,
        goal=replace(other.goal, accepted=~other.goal.accepted, low=other.goal.low / 2, high=other.goal.high / 2),
        outcomes=tuple(Outcome("partial", f"row {place}") for place in range(4)),
        row=row,
        rank=np.array([1, 2, 1, 2, 1, 2, 3]),
        levels=other.levels[row] + 10,
        cells=other.cells[row] + 10,
        chance=row / 10,
        predicted=np.zeros(7, dtype=np.int64),
        valid=np.zeros(7, dtype=bool),
        measured=Measured(np.arange(4.0), -np.arange(7.0)),
        share_valid=np.full(7, 0.25),
        coarse=np.arange(4),
    )
    both = with_answers_of(one, other, which)
    assert [outcome.status for outcome in both.outcomes] == ["partial", "found", "found", "partial"]
    assert both.row.tolist() == [1, 1, 2, 2, 3, 3, 3]
    assert both.rank.tolist() == [1, 2, 1, 2, 1, 2, 3]
    assert both.coarse.tolist() == [0, 0, 0, 3]
    for name in ("levels", "cells", "chance", "predicted", "valid", "share_valid"):
        assert np.array_equal(getattr(both, name)[:4], getattr(one, name)[2:6], equal_nan=name == "cells")
        assert np.array_equal(getattr(both, name)[4:], getattr(other, name)[4:], equal_nan=name == "cells")
    assert both.measured.after.tolist() == [2, 3, 4, 5, -4, -5, -6]
    for name in ("current", "desired"):
        assert (getattr(both, name) == np.where(which, getattr(other, name), getattr(one, name))).all()
    for name in ("accepted", "low", "high"):
        mine, theirs = getattr(one.goal, name), getattr(other.goal, name)
        assert (getattr(both.goal, name)[which] == theirs[which]).all()
        assert (getattr(both.goal, name)[~which] == mine[~which]).all()
