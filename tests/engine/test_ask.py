"""Asking a model while learning: each row once, and with answers on one scale."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from l2c.core.limits import Limits
from l2c.core.streams import Streams
from l2c.engine.ask import DECIDED, LEAST, Memory, Scale, unlimited, untaught
from l2c.engine.decode import decode_levels
from l2c.engine.dial import Dial
from l2c.engine.encode import Encoder
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe
from tables import question_for, random_cells, small_layout

LAYOUT = small_layout()
CELLS = random_cells(LAYOUT, 12, np.random.default_rng(4))


@dataclass
class Noting:
    """A model that notes what it is asked; its answer is the share of a row's first cell in a hundred."""

    classes: tuple[str, ...] = ("no", "yes")
    asked: list[np.ndarray] = field(default_factory=list)

    def proba(self, cells: np.ndarray) -> np.ndarray:
        self.asked.append(cells.copy())
        return np.stack([1 - cells[:, 0] / 100, cells[:, 0] / 100], axis=1)


def rows(*firsts: float) -> np.ndarray:
    return np.array([[first, np.nan, 2.0] for first in firsts])


def test_a_row_is_asked_about_once_within_a_question_and_between_questions():
    model = Noting()
    memory = Memory(model)
    assert memory.proba(rows(10, 30, 10, 50))[:, 1].tolist() == [0.1, 0.3, 0.1, 0.5]
    assert memory.proba(rows(30, 70, 50))[:, 1].tolist() == [0.3, 0.7, 0.5]
    assert memory.proba(rows(70, 10))[:, 1].tolist() == [0.7, 0.1]
    assert [sorted(asked[:, 0].tolist()) for asked in model.asked] == [[10, 30, 50], [70]]
    assert (memory.rows, memory.calls) == (4, 2)


def test_rows_that_differ_in_a_missing_value_alone_are_different_rows():
    memory = Memory(Noting())
    memory.proba(np.array([[10.0, np.nan], [10.0, 0.0], [10.0, -0.0]]))
    assert memory.rows == 2


def test_nothing_asked_is_nothing_answered():
    model = Noting()
    assert Memory(model).proba(np.empty((0, 3))).shape == (0, 2)
    assert model.asked == []


def slow_shares(answer: list[float], threshold: float | None, sharpness: float) -> list[float]:
    """Return the classes' shares of an answer, from the odds that a probability has against the decision."""
    clipped = [max(share, LEAST) for share in answer]
    if threshold is not None:
        clipped = [clipped[0] / (1 - threshold), clipped[1] / threshold]
    powers = [share**sharpness for share in clipped]
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize("threshold", [None, 0.2, 0.9])
@pytest.mark.parametrize("sharpness", [0.3, 1.0, 4.0])
def test_shares_are_powers_of_the_probabilities_against_the_threshold(threshold, sharpness):
    for answer in ([0.9, 0.1], [0.5, 0.5], [0.0, 1.0], [0.31, 0.69]):
        shares = np.exp(Scale(threshold, sharpness).log_shares(np.array([answer])))[0]
        assert shares.tolist() == pytest.approx(slow_shares(answer, threshold, sharpness))


def test_shares_of_three_classes_keep_their_order_and_add_to_one():
    proba = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    shares = np.exp(Scale(None, 3.0).log_shares(proba))
    assert shares.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert shares[0].tolist() == pytest.approx([share**3 / (0.2**3 + 0.3**3 + 0.5**3) for share in proba[0]])


@pytest.mark.parametrize(("threshold", "classes"), [(None, 2), (0.2, 2), (None, 3)])
def test_shares_are_turned_back_into_the_answers_that_they_stand_for(threshold, classes):
    proba = np.random.default_rng(0).dirichlet(np.full(classes, 5.0), 50)
    assert proba.min() > LEAST
    scale = Scale(threshold, 3.0)
    np.testing.assert_allclose(scale.proba(scale.log_shares(proba)), proba, rtol=1e-9)
    # A number added to all odds of a row, as a network's logits have it, changes nothing.
    np.testing.assert_allclose(scale.proba(scale.log_shares(proba) + 7.0), proba, rtol=1e-9)


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_on_its_scale_a_model_is_as_decided_as_any_other(threshold):
    rng = np.random.default_rng(0)
    desired = rng.integers(0, 2, 500)
    for spread in (0.1, 1.0, 5.0):
        second = 1 / (1 + np.exp(-rng.normal(0.4, spread, 500)))
        proba = np.stack([1 - second, second], axis=1)
        shares = np.exp(Scale.of(proba, desired, threshold).log_shares(proba))
        odds = [math.log(share[1] / share[0]) for share in shares]
        assert math.sqrt(sum(each**2 for each in odds) / 500) == pytest.approx(DECIDED)


def test_of_three_classes_the_desired_one_is_measured_against_its_nearest_rival():
    proba = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
    scale = Scale.of(proba, np.array([2, 0]), None)
    distance = math.sqrt((math.log(0.3 / 0.5) ** 2 + math.log(0.6 / 0.3) ** 2) / 2)
    assert scale.sharpness == pytest.approx(DECIDED / distance)


def test_labels_count_as_sure_answers_and_a_model_that_is_always_undecided_as_it_is():
    named = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    shares = np.exp(Scale.of(named, np.array([1, 1, 0]), None).log_shares(named))
    assert shares.max(axis=1) == pytest.approx(1 / (1 + math.exp(-DECIDED)))
    assert Scale.of(np.full((3, 2), 0.5), np.zeros(3, dtype=np.int64), None).sharpness == 1.0
    assert Scale.of(np.empty((0, 2)), np.zeros(0, dtype=np.int64), None).sharpness == 1.0


def even() -> Counterer:
    recipe = Recipe(selector="constant", selection=0.7)
    return Counterer(LAYOUT, recipe, Encoder.fit(LAYOUT, "levels", CELLS), (), (), (), 1.75, Dial())


def test_untaught_proposals_are_the_first_of_every_row_then_the_second_with_the_values_of_their_row():
    question = question_for(LAYOUT, CELLS, desired=[0, 1] * 6)
    cells, desired = untaught(even(), question, 3, seed=5)
    every = np.arange(12)
    drawn = even().proposer(question, Streams.for_rows(CELLS, 5)).propose(every, np.zeros_like(every), 3)
    for place, (count, row) in enumerate((count, row) for count in range(3) for row in range(12)):
        expected = decode_levels(LAYOUT, drawn[row, count][None], question.room.values, np.array([row]))[0]
        assert np.array_equal(cells[place], expected, equal_nan=True)
        assert desired[place] == question.desired[row]


def test_a_limit_on_how_many_features_change_is_not_known_to_learning():
    limited = question_for(LAYOUT, CELLS, limits=Limits(max_changes=1))
    assert (limited.room.changes == 1).all()
    free = unlimited(limited)
    assert (free.room.changes == len(LAYOUT.axes)).all()
    assert (free.room.open == limited.room.open).all()
    (cells, _), (few, _) = (untaught(even(), each, 4, seed=0) for each in (limited, replace(free)))
    assert np.array_equal(cells, few, equal_nan=True)
    changed = (LAYOUT.levels(cells) != np.tile(limited.levels, (4, 1))).sum(axis=1)
    assert changed.max() > 1
