"""Rows that the search left open are settled by what is seen of the model, and no more is said than was proved."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings

import l2c.release.search as stage
from l2c.core.explanation import Reason, Released
from l2c.core.feature import Feature
from l2c.core.goal import Goal
from l2c.core.layout import Layout
from l2c.core.limits import NO_LIMITS, Limits
from l2c.core.method import Question
from l2c.core.schema import Schema
from l2c.core.sight import Additive
from l2c.release import settle as module
from l2c.release.budget import Budget, Manner
from l2c.release.explain import PROVEN, look
from l2c.release.select import Selection
from laws import layout_of
from oracles import everything_allowed, slow_decode
from summing import Summing
from tables import HOWS, SEEDS, layouts, numeric_axis, question_for, random_cells

pytest.importorskip("ortools")

SIX = layout_of((4,) * 6)


@pytest.fixture(autouse=True, scope="module")
def only_what_is_drawn():
    """Try no room whole, however small it is, so that rows are left open."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "ENUMERABLE", 1)
        yield


@dataclass
class Nothing:
    """A proposer that has no idea: it proposes that everyone stays as they are."""

    question: Question

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> np.ndarray:
        assert len(first) == len(rows)
        return np.repeat(self.question.levels[rows][:, None], count, axis=1)


@dataclass
class Seen:
    """A model that is the view of it: a weight for each level, and a threshold."""

    layout: Layout
    weights: np.ndarray
    threshold: float
    asked: list[np.ndarray] = field(default_factory=list)
    looks: int = 0
    classes: tuple[str, ...] = ("refused", "granted")

    @property
    def view(self) -> Additive:
        entries = np.stack([np.zeros(len(self.weights)), self.weights], axis=1)
        slopes = np.zeros((len(self.layout.axes), 2))
        gaps = np.ones(len(self.layout.axes), dtype=bool)
        return Additive(self.layout, np.array([0.0, -self.threshold]), slopes, entries, gaps)

    def look(self) -> Additive:
        self.looks += 1
        return self.view

    def proba(self, cells: np.ndarray) -> np.ndarray:
        self.asked.append(cells.copy())
        return self.view.proba(self.view.scores(cells))


def settled(
    question: Question, model: Seen, *, blind: bool = False, expired: bool = False, asked: int = 1, **manner: bool
) -> Released:
    pools = look(
        question,
        layout=model.layout,
        blackbox=model,
        proposer=Nothing(question),
        manner=Manner(**manner),
        pool=asked,
        enough=asked,
        budget=Budget(30, expired=lambda: expired),
        sight=None if blind else model.look,
    )
    return pools.release(asked, Selection())


def tops(threshold: float) -> Seen:
    """Return a model that counts the features at their top level."""
    return Seen(SIX, np.tile([0.0, 0.0, 0.0, 1.0], 6), threshold)


def at_zero(limits: Limits = NO_LIMITS) -> Question:
    return question_for(SIX, np.zeros((1, 6)), limits=limits)


def test_a_row_for_which_nothing_was_found_gets_the_witness_that_the_solver_shows():
    model = tops(4.5)
    assert settled(at_zero(), model, blind=True).outcomes[0].status == "none_valid"
    found = settled(at_zero(), model)
    assert (found.outcomes[0].status, found.outcomes[0].tries) == ("found", 1)
    assert (found.levels == 3).sum() >= 5
    assert found.chance.tolist() == model.proba(found.cells)[:, 1].tolist()


def test_a_witness_of_both_choices_of_values_is_found_once():
    axes = tuple(numeric_axis((10.0, 20.0, 30.0), low=0.0, high=40.0) for _ in range(6))
    layout = Layout(Schema(tuple(Feature(name=f"f{i}", kind="numeric") for i in range(6))), axes)
    model = replace(tops(5.5), layout=layout)
    found = settled(question_for(layout, np.full((1, 6), 5.0)), model, asked=3, decode_again=True)
    assert found.levels.tolist() == [[3] * 6]
    assert (found.outcomes[0].status, found.outcomes[0].valid) == ("partial", 1)


@pytest.mark.parametrize(
    "limits",
    [
        Limits(max_changes=4),
        Limits(lock=["f0", "f1"]),
        Limits(max_cost=4),
        Limits(permit={"f0": ["0.0", "0.1"], "f5": {"to": "5.2"}}),
        Limits(forbid={"f0": [("*", "0.3")], "f1": [(["1.0", "1.1"], {"from": "1.3"})]}),
        Limits(where=["f0 == '0.1'", "f1 != '1.3' or f2 == '2.2'"]),
    ],
    ids=["changes", "lock", "cost", "permit", "forbid", "where"],
)
def test_where_the_limits_leave_none_it_is_proved(limits):
    model = tops(4.5)
    (outcome,) = settled(at_zero(limits), model).outcomes
    assert (outcome.status, outcome.sentence, outcome.reason) == ("infeasible", PROVEN, Reason(proven=True))
    less = settled(at_zero(limits), replace(model, threshold=2.5))
    assert less.outcomes[0].status == "found"


def test_without_limits_a_goal_out_of_reach_is_proved_too_and_nothing_is_released():
    found = settled(at_zero(), tops(6.5))
    assert (found.outcomes[0].status, found.outcomes[0].reason) == ("infeasible", Reason(proven=True))
    assert len(found.row) == 0


@dataclass
class Stubborn(Seen):
    """A model that is the view of it for rows as they are, and refuses every change."""

    def proba(self, cells: np.ndarray) -> np.ndarray:
        changed = (cells != 0).any(axis=1)
        return np.where(changed[:, None], [[0.9, 0.1]], super().proba(cells))


def test_a_witness_that_the_model_itself_denies_is_not_released_and_nothing_is_called_proven():
    (outcome,) = settled(at_zero(), Stubborn(SIX, tops(4.5).weights, 4.5)).outcomes
    assert (outcome.status, outcome.tries, outcome.reason) == ("none_valid", 1, Reason(proven=False))


def test_of_a_row_on_which_the_model_is_not_as_it_was_seen_nothing_is_called_proven():
    model, question = tops(6.5), question_for(SIX, np.array([[0.0] * 6, [1.0] + [0.0] * 5]))

    def proba(cells: np.ndarray) -> np.ndarray:
        told = model.view.proba(model.view.scores(cells))
        return np.where(cells[:, :1] == 1, [[0.8, 0.2]], told)

    odd = replace(model)
    odd.proba = proba
    outcomes = settled(question, odd).outcomes
    assert [outcome.status for outcome in outcomes] == ["infeasible", "none_valid"]


def test_rows_that_need_no_settling_are_not_looked_at():
    model = tops(4.5)
    already = question_for(SIX, np.full((1, 6), 3.0), current=1)
    assert settled(already, model).outcomes[0].status == "already"
    exhausted = at_zero(Limits(lock=[f"f{i}" for i in range(6)]))
    assert settled(exhausted, model).outcomes[0].sentence == "the schema and the limits allow this row no change at all"
    assert model.looks == 0


def test_a_model_that_cannot_be_seen_into_settles_nothing():
    model = tops(6.5)
    model.look = lambda: None
    assert settled(at_zero(), model).outcomes[0].status == "none_valid"


def test_a_range_of_probability_or_several_classes_are_left_open():
    model, question = tops(6.5), at_zero()
    ranged = replace(question, goal=question.goal.within(np.array([0.9]), np.array([1.0])))
    assert settled(ranged, model).outcomes[0].status == "none_valid"
    three = Goal(np.array([[False, True, True]]), np.array([np.nan]), np.array([np.nan]))
    assert module.open_rows(searched(replace(question, goal=three), model)).tolist() == []
    assert module.open_rows(searched(question, model)).tolist() == [0]


def searched(question: Question, model: Seen) -> stage.Search:
    """Return a search that has not begun."""
    return stage.Search(SIX, question, model, Nothing(question), Manner(), 1, 1, Budget(30), 0)


def test_when_time_is_up_nothing_more_is_settled():
    ticks = iter([False, False, True, True, True])
    model, question = tops(6.5), at_zero().take(np.array([0, 0, 0]))
    search = replace_budget(searched(question, model), Budget(30, expired=lambda: next(ticks)))
    module.settle(search, model.look)
    assert search.proven.tolist() == [True, True, False]


def replace_budget(search: stage.Search, budget: Budget) -> stage.Search:
    search.budget = budget
    return search


def brute_force(layout: Layout, question: Question, model: Seen, row: int) -> list[tuple[int, ...]]:
    cells, before = question.cells[row].tolist(), question.levels[row].tolist()
    good = []
    for after in everything_allowed(layout, cells, "median"):
        values = np.array([slow_decode(layout, before, after, cells, "median")])
        if model.view.scores(values)[0, 1] > 0:
            good.append(after)
    return good


@settings(max_examples=40)
@given(layouts(most=4, hows=HOWS), SEEDS)
def test_on_small_tables_the_verdict_is_that_of_trying_everything(layout, seed):
    rng = np.random.default_rng(seed)
    question = question_for(layout, random_cells(layout, 4, rng), decode="median")
    model = Seen(layout, rng.integers(-3, 4, layout.width).astype(float), float(rng.integers(-1, 9)) + 0.5)
    found = settled(question, model)
    for row, outcome in enumerate(found.outcomes):
        possible = brute_force(layout, question, model, row)
        assert outcome.status == ("found" if possible else "infeasible")
        assert outcome.found == 1 or outcome.reason.proven
        assert {tuple(levels) for levels in found.levels[found.row == row].tolist()} <= set(possible)


def test_a_witness_that_keeps_the_limits_with_its_second_values_alone_leaves_with_these():
    axis = numeric_axis((10.0, 20.0), low=0.0, high=40.0)
    layout = Layout(Schema((Feature(name="debt", kind="numeric"), Feature(name="rent", kind="numeric"))), (axis, axis))
    question = question_for(layout, np.array([[5.0, 5.0]]), decode="median", limits=Limits(where=["debt + rent >= 55"]))
    pools = look(
        question,
        layout=layout,
        blackbox=Summing(),
        proposer=Nothing(question),
        manner=Manner(decode_again=True),
        pool=1,
        enough=1,
        budget=Budget(5),
    )
    assert axis.median[2] + axis.median[2] < 55 <= axis.midpoint[2] + axis.midpoint[2]
    pools.searches[0].offer(0, np.array([2, 2], dtype=np.int16))
    assert pools.release(1, Selection()).cells.tolist() == [[30.0, 30.0]]
