"""Who judges proposals: what is marked, and what is heard ahead."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from l2c.core.feature import Feature
from l2c.core.goal import Goal
from l2c.core.layout import Layout
from l2c.core.schema import Schema
from l2c.core.twin import LayerTwin
from l2c.core.types import Cells, Probabilities
from l2c.release import jury
from l2c.release.jury import Jury
from summing import Summing
from tables import numeric_axis

SIZES = np.array([2, 3, 4])


def judges(*models: Summing, differ: np.ndarray | None = None) -> Jury:
    layout, rng = SimpleNamespace(offsets=np.array([0, 2, 5])), np.random.default_rng(4)
    room = SimpleNamespace(values=rng.normal(size=(20, 9)), others=rng.normal(size=(20, 9)))
    question = SimpleNamespace(goal=Goal.of_classes(np.ones(20, dtype=np.int64), classes=2), room=room)
    return Jury(layout, question, models[0], models[1:], None, differ=differ)  # type: ignore[arg-type]


def random_levels(rng: np.random.Generator, count: int) -> np.ndarray:
    return (rng.random((count, 3)) * SIZES).astype(np.int16)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_proposal_has_others_where_one_of_its_levels_is_marked(compiled, monkeypatch):
    monkeypatch.setattr(jury, "compiles", lambda: compiled)
    rng = np.random.default_rng(0)
    marked, row = rng.random((20, 9)) < 0.15, rng.integers(0, 20, 300)
    levels = random_levels(rng, 300)
    expected = [
        any(marked[r, start + level] for start, level in zip((0, 2, 5), line, strict=True))
        for r, line in zip(row, levels, strict=True)
    ]
    found = judges(Summing(), differ=marked).has_others(row, levels)
    assert found.tolist() == expected
    assert 0 < sum(expected) < 300


def test_what_was_heard_is_judged_without_another_call_and_then_forgotten():
    rng = np.random.default_rng(1)
    row, levels, second = rng.permutation(20), random_levels(rng, 20), rng.random(20) < 0.5
    models = Summing(), Summing(-0.5)
    asking, hearing = judges(Summing(), Summing(-0.5)), judges(*models)
    hearing.hear(hearing.values(row, levels, second), hearing.values(row, levels, ~second))
    for choice, some in ((second, slice(0, 20)), (~second, slice(5, 15))):
        told = hearing.judge(row[some], levels[some], choice[some])
        expected = asking.judge(row[some], levels[some], choice[some])
        assert all(np.array_equal(one, other) for one, other in zip(told, expected, strict=True))
    assert [model.asked for model in models] == [[40], [40]]
    hearing.hear()
    hearing.judge(row, levels, second)
    assert [model.asked for model in models] == [[40, 20], [40, 20]]


DEBTS = Layout(Schema((Feature(name="debt", kind="numeric"),)), (numeric_axis((10.0, 20.0), low=0.0, high=40.0),))


@dataclass
class Debtor:
    """A model of one number, that keeps what it is asked."""

    classes: tuple[int, int] = (0, 1)
    asked: list[float] = field(default_factory=list)

    def proba(self, cells: Cells) -> Probabilities:
        self.asked += cells[:, 0].tolist()
        second = 1 / (1 + np.exp(2.0 - 0.1 * cells[:, 0]))
        return np.stack([1 - second, second], axis=1)


def by_a_twin(model: Debtor, goal: Goal, close: float) -> Jury:
    """Return a jury for two people, for whom bins stand for numbers of their own, with either choice."""
    values, others = np.array([[5.0, 15.0, 30.0], [8.0, 18.0, 35.0]]), np.array([[1.0, 11.0, 21.0], [2.0, 12.0, 22.0]])
    weights, all_numbers = np.full((3, 1), 0.1), np.ones(3, dtype=bool)
    twin = LayerTwin(DEBTS, weights, all_numbers, np.zeros(3), np.ones(3), np.array([-2.0]), None, close)
    question = SimpleNamespace(goal=goal, room=SimpleNamespace(values=values, others=others))
    return Jury(DEBTS, question, model, (), twin)  # type: ignore[arg-type]


@pytest.mark.parametrize("chosen", [(0, 0, 0, 0, 0, 0), (1, 1, 1, 1, 1, 1), (0, 1, 0, 1, 1, 0)])
def test_a_twin_judges_each_proposal_by_its_own_choice_of_values_and_asks_nothing(chosen):
    model, row, levels = Debtor(), np.repeat([0, 1], 3), np.tile([[0], [1], [2]], (2, 1)).astype(np.int16)
    jury, second = by_a_twin(model, Goal.of_classes(np.array([1, 1]), classes=2), 1e-9), np.array(chosen, dtype=bool)
    told = jury.judge(row, levels, second)
    assert not model.asked
    debts = [
        (jury.question.room.others if other else jury.question.room.values)[r, level]
        for other, r, (level,) in zip(chosen, row, levels, strict=True)
    ]
    expected = [1 / (1 + np.exp(2.0 - 0.1 * debt)) for debt in debts]
    assert np.abs(told.chance - expected).max() < 1e-12
    assert told.reached.tolist() == [chance > 0.5 for chance in expected]


def test_a_twin_leaves_to_the_model_what_comes_close_to_an_end_of_the_range_that_is_asked_for():
    model, row, levels = Debtor(), np.repeat([0, 1], 3), np.tile([[0], [1], [2]], (2, 1)).astype(np.int16)
    goal = Goal.of_classes(np.array([1, 1]), classes=2)
    # 30 has 0.731 and 18 has 0.450; nothing else is near an end.
    goal = goal.within(np.array([0.6, 0.4501]), np.array([0.7311, 0.9]))
    told = by_a_twin(model, goal, 1e-3).judge(row, levels, np.zeros(6, dtype=bool))
    assert model.asked == [30.0, 18.0]
    assert told.reached.tolist() == [False, False, True, False, True, True]


def test_it_leaves_to_the_model_the_very_choice_of_values_that_comes_close():
    model, row, levels = Debtor(), np.array([0, 0, 1, 1]), np.array([[2], [2], [2], [2]], dtype=np.int16)
    goal = Goal.of_classes(np.array([1, 1]), classes=2).within(np.full(2, 0.55), np.full(2, 0.9))
    # 30 has 0.731, 21 has 0.525, 35 has 0.818 and 22 has 0.5498.
    told = by_a_twin(model, goal, 1e-3).judge(row, levels, np.array([False, True, False, True]))
    assert model.asked == [22.0]
    assert told.reached.tolist() == [True, False, True, False]
