"""From proposals to what may leave: what is kept, what it cost, and how each row ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import l2c.release.search as stage
from l2c.core.blackbox import decide
from l2c.core.explanation import Reason, Released
from l2c.core.feature import Feature
from l2c.core.goal import Goal
from l2c.core.layout import Decode, Layout, categorical_axis
from l2c.core.limits import Limits
from l2c.core.method import Proposer, Question
from l2c.core.rules import Implies
from l2c.core.schema import Schema
from l2c.core.streams import Streams
from l2c.engine.dial import Dial
from l2c.engine.encode import Encoder
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe
from l2c.engine.reference import fit_reference
from l2c.release.budget import Budget, Manner
from l2c.release.explain import ALREADY, confirm, look
from l2c.release.select import Selection, choose
from oracles import everything_allowed, slow_decode, slow_obeys
from tables import (
    HOWS,
    SEEDS,
    layouts,
    numeric_axis,
    question_for,
    random_cells,
    random_levels,
    random_question,
    small_layout,
)

ANY = Selection()
PLAIN = Manner()
NO_PROOF = "; the search found no more, which is no proof that there are none"


@dataclass
class Weighing:
    """A model of two classes by the sign of a weighted sum of the cells, which notes what it was asked."""

    weights: np.ndarray
    threshold: float
    asked: list[np.ndarray] = field(default_factory=list)
    classes: tuple[str, ...] = ("refused", "granted")

    def proba(self, cells: np.ndarray) -> np.ndarray:
        self.asked.append(cells.copy())
        score = np.full(len(cells), -self.threshold)
        for weight, column in zip(self.weights, np.nan_to_num(cells, nan=-1.0).T, strict=True):
            score = score + weight * column
        granted = np.exp(-np.logaddexp(0.0, -score))
        return np.stack([1 - granted, granted], axis=1)

    @property
    def rows_asked(self) -> int:
        return sum(len(cells) for cells in self.asked)


@dataclass
class Same:
    """A model that answers every row alike."""

    answer: tuple[float, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple("abc"[: len(self.answer)])

    def proba(self, cells: np.ndarray) -> np.ndarray:
        return np.tile(self.answer, (len(cells), 1))


@dataclass
class Script:
    """A proposer that repeats the same draws for every row."""

    draws: list[list[int]]

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> np.ndarray:
        positions = (first[:, None] + np.arange(count)) % len(self.draws)
        assert len(rows) == len(first)
        return np.array(self.draws, dtype=np.int16)[positions]


def uniform(layout: Layout, question: Question, *, seed: int = 0, epsilon: float = 0.0, place: float = 0.0) -> Proposer:
    """Return draws from the uniform law over the allowed levels; with ε, from the others too."""
    recipe = Recipe(selector="constant", selection=0.9, epsilon=epsilon)
    encoder = Encoder.fit(layout, "levels", question.cells)
    laws = tuple(fit_reference(layout, random_levels(layout, (30,), np.random.default_rng(i))) for i in range(2))
    even = Counterer(layout, recipe, encoder, (), (), laws, 1.75, Dial())
    return even.proposer(question, Streams.for_rows(question.cells, seed), place)


def released(
    layout: Layout,
    question: Question,
    model: Weighing | Same,
    *,
    proposer: Proposer | None = None,
    asked: int = 5,
    tries: int = 2000,
    seed: int = 0,
    epsilon: float = 0.0,
    place: float = 0.0,
    manner: Manner = PLAIN,
    pool: int | None = None,
    selection: Selection = ANY,
    patience: int | None = None,
    expired: Callable[[], bool] = lambda: False,
    at_once: bool = False,
) -> Released:
    pools = look(
        question,
        layout=layout,
        blackbox=model,
        proposer=proposer or uniform(layout, question, seed=seed, epsilon=epsilon, place=place),
        manner=manner,
        pool=pool or asked,
        enough=asked,
        budget=Budget(tries, patience, expired),
        at_once=(asked, selection) if at_once else None,
    )
    assert bool(pools.searches) != at_once
    return pools.release(asked, selection)


def random_model(layout: Layout, question: Question, rng: np.random.Generator) -> Weighing:
    """Return a model for which a share of the rows' neighbours, from none to all, is granted."""
    weights = rng.normal(0, 1, len(layout.axes))
    scores = np.nan_to_num(question.cells, nan=-1.0) @ weights
    return Weighing(weights, float(rng.uniform(scores.min() - 3, scores.max() + 10)))


def sets_of(found: Released) -> list[list[tuple[int, ...]]]:
    """Return each row's counterfactuals by level, in order."""
    return [[tuple(levels) for levels in found.levels[found.row == row].tolist()] for row in range(len(found.factual))]


def brute_force(layout: Layout, question: Question, model: Weighing, row: int) -> set[tuple[int, ...]]:
    """Return every valid counterfactual of a row, by trying them all."""
    cells = question.cells[row].tolist()
    before = question.levels[row].tolist()
    allowed = list(everything_allowed(layout, cells, "median"))
    values = np.array([slow_decode(layout, before, after, cells, "median") for after in allowed])
    if not allowed:
        return set()
    proba = Weighing(model.weights, model.threshold).proba(values.reshape(len(allowed), -1))
    wanted = question.desired[row]
    return {after for after, p in zip(allowed, proba.tolist(), strict=True) if p[wanted] > p[1 - wanted]}


def same_release(left: Released, right: Released) -> bool:
    arrays = (
        "factual", "current", "desired", "row", "rank", "levels", "cells", "chance", "predicted", "cost", "valid",
    )  # fmt: skip
    return left.outcomes == right.outcomes and all(
        np.array_equal(getattr(left, name), getattr(right, name), equal_nan=True) for name in arrays
    )


@given(layouts(hows=HOWS, costs=True), SEEDS, st.sampled_from([0.0, 0.2]), st.sampled_from([1, 4, 30]))
def test_what_is_released_is_valid_different_obeying_and_changed(layout, seed, epsilon, asked):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 6, rng, decode="median")
    model = random_model(layout, question, rng)
    found = released(layout, question, model, asked=asked, tries=300, epsilon=epsilon)
    for row, levels in enumerate(sets_of(found)):
        outcome = found.outcomes[row]
        assert len(set(levels)) == len(levels) == outcome.found <= asked
        assert set(levels) <= set(everything_allowed(layout, question.cells[row].tolist(), "median"))
    proba = model.proba(found.cells)
    assert found.valid.all()
    assert (proba[:, 1] > proba[:, 0]).all()
    assert (found.chance == proba[:, 1]).all()
    assert (layout.levels(found.cells) == found.levels).all()
    kept = found.levels == question.levels[found.row]
    assert np.array_equal(found.cells[kept], question.cells[found.row][kept], equal_nan=True)


@given(
    layouts(most=3, hows=HOWS),
    SEEDS,
    st.sampled_from([0.0, 0.2, 0.9]),
    st.sampled_from([1, 7, 500]),
    st.sampled_from([1, 20, 3000]),
)
def test_a_row_is_called_exhausted_only_if_brute_force_agrees(layout, seed, epsilon, asked, tries):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 3, rng, decode="median")
    model = random_model(layout, question, rng)
    found = released(layout, question, model, asked=asked, tries=tries, epsilon=epsilon)
    for row, (levels, outcome) in enumerate(zip(sets_of(found), found.outcomes, strict=True)):
        possible = brute_force(layout, question, model, row)
        assert set(levels) <= possible
        if outcome.status == "infeasible":
            assert not possible
            assert outcome.tries == len(list(everything_allowed(layout, question.cells[row].tolist(), "median")))
        if "no others within the limits" in outcome.sentence:
            assert set(levels) == possible
        expected = "found" if len(levels) == asked else "partial" if levels else outcome.status
        assert outcome.status == expected
        assert outcome.status in ("found", "partial") or (outcome.status in ("none_valid", "infeasible") and not levels)


@given(layouts(most=3, hows=HOWS), SEEDS, st.sampled_from([1, 7, 500]))
def test_with_time_enough_every_counterfactual_there_is_is_found_or_their_absence_proved(layout, seed, asked):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 3, rng, decode="median")
    model = random_model(layout, question, rng)
    found = released(layout, question, model, asked=asked, tries=20_000)
    for row, (levels, outcome) in enumerate(zip(sets_of(found), found.outcomes, strict=True)):
        possible = brute_force(layout, question, model, row)
        assert len(levels) == min(asked, len(possible))
        assert (outcome.status == "infeasible") == (not possible)


@pytest.mark.parametrize("block", [1, 7, 64, 1000])
def test_the_block_size_changes_nothing(monkeypatch, block):
    layout, rng = small_layout(), np.random.default_rng(1)
    question = random_question(layout, 40, rng, decode="median")
    model = Weighing(np.array([0.05, -0.01, 0.5, 0.5, 1.0]), 3.0)
    in_one = released(layout, question, model, asked=6, tries=200, epsilon=0.1)
    assert {outcome.status for outcome in in_one.outcomes} >= {"found", "partial"}
    monkeypatch.setattr(stage, "BLOCK", block)
    assert same_release(released(layout, question, model, asked=6, tries=200, epsilon=0.1), in_one)


def test_sets_that_are_chosen_as_each_chunk_ends_are_the_same(monkeypatch):
    layout, rng = small_layout(), np.random.default_rng(1)
    question = random_question(layout, 40, rng, decode="median")
    model = Weighing(np.array([0.05, -0.01, 0.5, 0.5, 1.0]), 3.0)
    monkeypatch.setattr(stage, "BLOCK", 64)
    for selection in (ANY, Selection(1.0, 1.75)):
        asked = {"asked": 4, "tries": 200, "pool": 12, "selection": selection}
        in_the_end = released(layout, question, model, **asked)
        assert {outcome.status for outcome in in_the_end.outcomes} >= {"found", "partial"}
        assert same_release(released(layout, question, model, at_once=True, **asked), in_the_end)


@given(layouts(hows=HOWS, costs=True), SEEDS)
def test_a_rows_set_does_not_depend_on_the_other_rows_or_their_order(layout, seed):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 8, rng, decode="median")
    model = random_model(layout, question, rng)
    together = released(layout, question, model, asked=4, tries=100)
    order = rng.permutation(8)
    for rows in (order, order[:3], order[:1]):
        apart = released(layout, question.take(rows), model, asked=4, tries=100)
        assert [together.outcomes[row] for row in rows] == list(apart.outcomes)
        assert [sets_of(together)[row] for row in rows] == sets_of(apart)
        for place, row in enumerate(rows):
            assert (apart.chance[apart.row == place] == together.chance[together.row == row]).all()


def test_equal_rows_get_equal_sets():
    layout, rng = small_layout(), np.random.default_rng(2)
    cells = random_cells(layout, 3, rng)[[0, 1, 0, 2, 0]]
    question = question_for(layout, cells, decode="median")
    found = released(layout, question, Weighing(np.array([0.05, -0.01, 0.5, 0.5, 1.0]), 3.0), asked=4)
    sets = sets_of(found)
    assert sets[0]
    assert sets[0] == sets[2] == sets[4]
    assert found.outcomes[0] == found.outcomes[2]


def test_another_seed_gives_another_set():
    layout, rng = small_layout(), np.random.default_rng(3)
    question = random_question(layout, 10, rng, decode="median")
    model = Same((0.0, 1.0))
    assert sets_of(released(layout, question, model, seed=0)) != sets_of(released(layout, question, model, seed=1))


# One ordinal feature of four levels and one flag, both free: seven proposals besides the row itself.


def seven() -> Layout:
    features = (
        Feature(name="grade", kind="ordinal", levels=(0, 1, 2, 3)),
        Feature(name="flag", kind="binary", levels=(0, 1)),
    )
    return Layout(Schema(features), tuple(categorical_axis(each) for each in features))


def ask(model: Weighing | Same, layout: Layout, rows: list[list[float]], desired: int = 1) -> Question:
    cells = np.array(rows)
    current = decide(model.proba(cells))
    if isinstance(model, Weighing):
        model.asked.clear()
    return question_for(layout, cells, current=current, desired=desired, decode="median")


def test_found_is_as_many_as_asked():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    found = released(layout, ask(model, layout, [[0.0, 0.0]]), model, asked=4)
    (outcome,) = found.outcomes
    assert (outcome.status, outcome.found) == ("found", 4)
    assert outcome.sentence == "4 different counterfactuals"
    assert set(sets_of(found)[0]) == {(2, 0), (2, 1), (3, 0), (3, 1)}
    assert found.rank.tolist() == [1, 2, 3, 4]
    assert found.classes == ("refused", "granted")
    assert found.asked == 4


def test_partial_says_that_there_are_no_others_and_nothing_is_padded():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    found = released(layout, ask(model, layout, [[0.0, 0.0]]), model, asked=100)
    (outcome,) = found.outcomes
    assert (outcome.status, outcome.found, outcome.tries) == ("partial", 4, 7)
    assert outcome.sentence == "4 of 100 counterfactuals after 7 tries; there are no others within the limits"
    assert len(found.row) == 4
    assert model.rows_asked == 7


def test_infeasible_says_how_many_combinations_were_tried():
    model, layout = Weighing(np.array([1.0, 1.0]), 100.0), seven()
    found = released(layout, ask(model, layout, [[0.0, 0.0], [3.0, 1.0]]), model, asked=3)
    for outcome in found.outcomes:
        assert (outcome.status, outcome.found, outcome.tries) == ("infeasible", 0, 7)
        assert outcome.sentence == "all 7 combinations within the limits were tried; none changes the outcome"
    assert len(found.row) == 0
    assert found.cells.shape == found.levels.shape == (0, 2)


def test_none_valid_says_that_the_tries_ended():
    model, layout = Weighing(np.array([1.0, 1.0]), 100.0), seven()
    script = Script([[1, 0], [1, 0], [0, 0], [2, 1]])
    found = released(layout, ask(model, layout, [[0.0, 0.0]]), model, asked=3, proposer=script, tries=6)
    (outcome,) = found.outcomes
    assert (outcome.status, outcome.found, outcome.tries) == ("none_valid", 0, 2)
    assert outcome.sentence == f"none of 2 proposals changes the outcome{NO_PROOF}"
    assert outcome.reason == Reason(proven=False)


def test_partial_by_the_end_of_the_tries_says_that_this_is_no_proof():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    script = Script([[1, 0], [3, 0], [2, 1]])
    found = released(layout, ask(model, layout, [[0.0, 0.0]]), model, asked=3, proposer=script, tries=7)
    assert found.outcomes[0].sentence == f"2 of 3 counterfactuals after 3 tries{NO_PROOF}"
    assert found.outcomes[0].reason == Reason(proven=False)


def test_a_row_that_has_the_desired_outcome_is_told_so_and_costs_nothing():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    question = ask(model, layout, [[3.0, 0.0], [0.0, 0.0], [2.0, 1.0]])
    found = released(layout, question, model, asked=2)
    assert [outcome.status for outcome in found.outcomes] == ["already", "found", "already"]
    assert found.outcomes[0] == ALREADY
    assert set(found.row.tolist()) == {1}
    assert model.rows_asked == found.outcomes[1].tries
    assert found.answered.tolist() == [False, True, False]


def test_a_row_that_cannot_move_at_all_is_infeasible_without_asking_the_model():
    features = (Feature(name="age", kind="numeric", moves="rises"),)
    layout = Layout(Schema(features), (numeric_axis((30.0, 45.0), low=18.0, high=80.0),))
    model = Weighing(np.array([1.0]), 100.0)
    found = released(layout, ask(model, layout, [[70.0]]), model)
    assert (found.outcomes[0].status, found.outcomes[0].tries) == ("infeasible", 0)
    assert found.outcomes[0].sentence == "the schema and the limits allow this row no change at all"
    assert model.rows_asked == 0


def test_proposals_that_break_the_schema_do_not_count_towards_exhaustion():
    """A row at level 2 of 4 that rises has one other level; the proposer offers the two forbidden ones first."""
    features = (Feature(name="grade", kind="ordinal", levels=(0, 1, 2, 3), moves="rises"),)
    layout = Layout(Schema(features), (categorical_axis(features[0]),))
    model = Weighing(np.array([1.0]), 2.5)
    late = Script([[0], [1], [2]] * 40 + [[3]])
    found = released(layout, ask(model, layout, [[2.0]]), model, asked=1, proposer=late)
    assert (found.outcomes[0].status, found.levels.tolist()) == ("found", [[3]])


def test_proposals_that_break_a_rule_do_not_count_towards_exhaustion():
    features = tuple(Feature(name=name, kind="ordinal", levels=(0, 1, 2), moves="rises") for name in ("a", "b"))
    layout = Layout(
        Schema(features, rules=(Implies("a", "b"),)), tuple(categorical_axis(feature) for feature in features)
    )
    model = Weighing(np.array([1.0, 1.0]), 3.5)
    late = Script([[0, 0], [1, 0], [2, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 1]] * 20 + [[2, 2]])
    found = released(layout, ask(model, layout, [[0.0, 0.0]]), model, asked=1, proposer=late)
    assert (found.outcomes[0].status, found.levels.tolist()) == ("found", [[2, 2]])


def test_a_rule_that_leaves_nothing_never_makes_a_row_exhausted_by_mistake():
    """Exhaustion is counted against all combinations of moves; where a rule shuts some, tries end instead."""
    features = tuple(Feature(name=name, kind="binary", levels=(0, 1), moves="rises") for name in ("a", "b"))
    layout = Layout(
        Schema(features, rules=(Implies("a", "b"),)), tuple(categorical_axis(feature) for feature in features)
    )
    model = Weighing(np.array([1.0, -1.0]), 0.5)  # only (1, 0) would be granted, and the rule forbids it
    found = released(layout, ask(model, layout, [[0.0, 0.0]]), model, tries=100)
    assert found.outcomes[0].status in ("none_valid", "infeasible")
    assert {tuple(row) for cells in model.asked for row in cells.tolist()} == {(0.0, 1.0), (1.0, 1.0)}


def test_a_tie_is_never_valid():
    layout = seven()
    for model in (Same((0.5, 0.5)), Same((0.2, 0.4, 0.4)), Weighing(np.zeros(2), 0.0)):
        goal = Goal.of_classes(np.array([1]), len(model.classes))
        question = Question.of(layout, np.zeros((1, 2)), model.proba(np.zeros((1, 2))), goal)
        found = released(layout, question, model)
        assert found.outcomes[0].status == "infeasible"
        assert len(found.row) == 0


def test_with_three_classes_the_desired_one_is_reached_for_each_row():
    @dataclass
    class ByGrade:
        classes: tuple[str, ...] = ("low", "middle", "high")

        def proba(self, cells: np.ndarray) -> np.ndarray:
            return np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]])[
                cells[:, 0].astype(int)
            ]

    layout = seven()
    cells = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    question = question_for(layout, cells, current=[0, 0, 1], desired=[1, 2, 0])
    found = released(layout, question, ByGrade(), asked=50)
    assert [set(levels) for levels in sets_of(found)] == [
        {(1, 0), (1, 1)},
        {(2, 0), (2, 1), (3, 0), (3, 1)},
        {(0, 0), (0, 1)},
    ]
    assert (found.chance == 0.8).all()


def test_the_first_valid_proposals_are_kept_in_the_order_drawn_and_repeats_are_not_judged_again():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    script = Script([[3, 1], [1, 0], [3, 1], [0, 0], [2, 0], [1, 0], [3, 0], [2, 1]])
    found = released(layout, ask(model, layout, [[0.0, 0.0]]), model, asked=3, proposer=script)
    assert sets_of(found)[0] == [(3, 1), (2, 0), (3, 0)]
    judged = [tuple(row) for cells in model.asked for row in cells.tolist()]
    assert len(set(judged)) == len(judged)
    assert (0.0, 0.0) not in judged


@given(layouts(hows=HOWS, costs=True), SEEDS, st.sampled_from([0.0, 0.3]))
def test_tries_are_the_rows_that_the_model_was_asked_about(layout, seed, epsilon):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 5, rng, decode="median")
    model = random_model(layout, question, rng)
    found = released(layout, question, model, asked=3, tries=80, epsilon=epsilon)
    assert found.tries == model.rows_asked
    for row, outcome in enumerate(found.outcomes):
        assert outcome.tries <= 80
        alone = Weighing(model.weights, model.threshold)
        released(layout, question.take(np.array([row])), alone, asked=3, tries=80, epsilon=epsilon)
        assert alone.rows_asked == outcome.tries
        judged = {np.nan_to_num(each, nan=-9e9).tobytes() for cells in alone.asked for each in cells}
        assert len(judged) == alone.rows_asked


@pytest.mark.parametrize("asked", [1, 60, 500])
def test_a_room_no_larger_than_what_was_drawn_is_tried_whole_however_many_are_asked_for(asked):
    model, layout = Weighing(np.array([1.0, 1.0]), 3.5), seven()
    question, unlucky = ask(model, layout, [[0.0, 0.0]]), Script([[1, 0], [2, 0]])
    found = released(layout, question, model, proposer=unlucky, asked=asked, tries=60)
    assert sets_of(found)[0] == [(3, 1)]
    few = released(layout, question, model, proposer=unlucky, asked=asked, tries=6)  # fewer than there are
    assert few.outcomes[0].status == "none_valid"


def test_no_more_than_the_tries_are_drawn(monkeypatch):
    monkeypatch.setattr(stage, "ENUMERABLE", 1)
    layout, drawn = seven(), []

    class Noting(Script):
        def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> np.ndarray:
            drawn.append((int(first[0]), count))
            return super().propose(rows, first, count)

    model = Same((1.0, 0.0))
    released(layout, ask(model, layout, [[0.0, 0.0]]), model, proposer=Noting([[1, 0], [2, 0]]), asked=3, tries=137)
    assert drawn[0] == (0, 3)
    assert all(first == before + count for (before, count), (first, _) in pairwise(drawn))
    assert sum(count for _, count in drawn) == 137


def test_when_time_is_up_rows_still_looking_are_told_so():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    script = Script([[1, 0], [3, 0], [2, 1]])
    question = ask(model, layout, [[0.0, 0.0], [3.0, 0.0]])
    found = released(layout, question, model, asked=3, proposer=script, expired=lambda: True)
    first, second = found.outcomes
    assert first.sentence == "2 of 3 counterfactuals after 3 tries; the time budget ended"
    assert second == ALREADY
    nothing = released(layout, question, model, asked=1, proposer=script, expired=lambda: True)
    assert nothing.outcomes[0].sentence == "none of 1 proposals changes the outcome; the time budget ended"


def test_a_row_whose_own_tries_had_ended_is_not_told_that_time_was_up():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    found = released(
        layout,
        ask(model, layout, [[0.0, 0.0]]),
        model,
        asked=3,
        tries=3,
        proposer=Script([[1, 0], [3, 0]]),
        expired=lambda: True,
    )
    assert found.outcomes[0].sentence.endswith(NO_PROOF)


def test_rows_whose_turn_had_not_come_when_time_was_up_are_not_drawn_for(monkeypatch):
    monkeypatch.setattr(stage, "BLOCK", 2)
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    script = Script([[3, 0], [1, 0]])
    question = ask(model, layout, [[0.0, 0.0]] * 3 + [[3.0, 0.0]])
    found = released(layout, question, model, asked=2, proposer=script, expired=lambda: True)
    assert [outcome.status for outcome in found.outcomes] == ["partial", "none_valid", "none_valid", "already"]
    assert found.outcomes[1].sentence == "none of 0 proposals changes the outcome; the time budget ended"
    assert model.rows_asked == found.tries == found.outcomes[0].tries


def test_the_clock_is_asked_between_rounds_and_a_finished_row_keeps_its_set(monkeypatch):
    monkeypatch.setattr(stage, "ENUMERABLE", 1)
    model, layout, ticks = Weighing(np.array([1.0, 0.0]), 1.5), seven(), iter([False, False, True])
    script = Script([[3, 0], [1, 0], [1, 0], [1, 0]])
    found = released(
        layout,
        ask(model, layout, [[0.0, 0.0], [0.0, 1.0]]),
        model,
        asked=2,
        proposer=script,
        expired=lambda: next(ticks),
    )
    assert [outcome.status for outcome in found.outcomes] == ["partial", "partial"]
    assert list(ticks) == []


def test_a_single_row_and_no_row_at_all_are_batches_too():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    one = released(layout, ask(model, layout, [[0.0, 1.0]]), model, asked=1)
    assert (one.row.tolist(), one.rank.tolist(), one.outcomes[0].found) == ([0], [1], 1)
    none = released(layout, ask(model, layout, [[0.0, 1.0]]).take(np.array([], dtype=int)), model)
    assert none.outcomes == ()
    assert none.factual.shape == none.cells.shape == none.levels.shape == (0, 2)
    assert none.tries == 0


def test_progress_counts_the_rows_done(monkeypatch):
    monkeypatch.setattr(stage, "BLOCK", 20)
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    question, told = ask(model, layout, [[0.0, 0.0]] * 10), []
    look(
        question,
        layout=layout,
        blackbox=model,
        proposer=uniform(layout, question),
        manner=PLAIN,
        pool=5,
        enough=5,
        budget=Budget(100),
        progress=lambda done, rows: told.append((done, rows)),
    )
    assert told == [(4, 10), (8, 10), (10, 10)]


def test_the_persons_own_numbers_and_gaps_are_released_unchanged():
    layout = small_layout()
    cells = np.array([[33.3, np.nan, np.nan, 0.0, 1.0]])
    question = question_for(layout, cells, decode="median")
    found = released(layout, question, Same((0.0, 1.0)), asked=20, tries=500)
    assert np.isnan(found.cells[:, 1]).all()  # debt falls: from missing there is no way down
    assert (found.cells[:, 4] == 1.0).all()
    assert set(found.cells[:, 0].tolist()) == {33.3, 53.75}


# A set from a pool


def strange(levels: np.ndarray, desired: np.ndarray) -> np.ndarray:
    """Return an unlikeliness that depends on the desired class too."""
    return (levels * np.arange(1, levels.shape[1] + 1)).sum(axis=1) * (1.0 + desired) / 7


BALANCED = Selection(1.0, 1.5, 0.1, unlikely=strange)


@pytest.mark.parametrize("selection", [BALANCED, Selection(0.0, 1.0), Selection(1.0, 0.0, 1e-3, unlikely=strange)])
@pytest.mark.parametrize("place", [0.0, 0.7])
def test_the_set_of_a_row_is_what_selection_chooses_from_its_first_valid_ones(selection, place):
    layout, rng = small_layout(), np.random.default_rng(1)
    question = random_question(layout, 20, rng, decode="median")
    model = Weighing(np.array([0.05, -0.01, 0.5, 0.5, 1.0]), 3.0)
    pools = released(layout, question, model, asked=12, place=place)  # all of the first twelve
    found = released(layout, question, model, asked=4, pool=12, selection=selection, place=place)
    assert max(outcome.valid for outcome in found.outcomes) == 12
    differ = 0
    for row, own in enumerate(question.levels):
        pool = pools.levels[pools.row == row]
        worth = selection.sparsity * (pool == own).mean(axis=1)
        if selection.unlikely:
            worth = worth - selection.unlikeliness * strange(pool, question.desired[[row] * len(pool)])
        order = choose(pool, np.arange(len(pool))[None], worth[None], 4, selection.distance)[0]
        chosen = pool[order[order >= 0]]
        assert found.levels[found.row == row].tolist() == chosen.tolist()
        assert found.rank[found.row == row].tolist() == list(range(1, len(chosen) + 1))
        assert (found.outcomes[row].found, found.outcomes[row].valid) == (len(chosen), len(pool))
        assert found.outcomes[row].tries == pools.outcomes[row].tries
        cells, chance = pools.cells[pools.row == row], pools.chance[pools.row == row]
        assert np.array_equal(found.cells[found.row == row], cells[order[order >= 0]], equal_nan=True)
        assert (found.chance[found.row == row] == chance[order[order >= 0]]).all()
        differ += chosen.tolist() != pool[:4].tolist()
    assert differ > 5
    assert found.pooled == pools.pooled == len(pools.row)


def test_a_pool_smaller_than_what_was_asked_is_released_whole():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    question = ask(model, layout, [[0.0, 0.0], [3.0, 1.0]])
    found = released(layout, question, model, asked=6, pool=60, selection=Selection(1.0, 1.5))
    first, second = found.outcomes
    assert (first.status, first.found, first.valid, first.tries) == ("partial", 4, 4, 7)
    assert first.sentence == "4 of 6 counterfactuals after 7 tries; there are no others within the limits"
    assert set(sets_of(found)[0]) == {(2, 0), (2, 1), (3, 0), (3, 1)}
    assert sets_of(found)[0][0] in {(2, 0), (3, 0)}  # read first: the one that changes least
    assert found.rank.tolist() == [1, 2, 3, 4]
    assert (second, second.valid) == (ALREADY, 0)


def test_a_row_with_enough_but_no_full_pool_has_found_what_was_asked():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    found = released(layout, ask(model, layout, [[0.0, 0.0]]), model, asked=3, pool=60, selection=Selection(1.0, 1.5))
    (outcome,) = found.outcomes
    assert (outcome.status, outcome.found, outcome.valid, outcome.sentence) == (
        "found", 3, 4, "3 different counterfactuals",
    )  # fmt: skip
    assert len(found.row) == 3


def test_no_more_than_the_pool_is_kept_and_none_is_no_pool():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    question = ask(model, layout, [[0.0, 0.0], [0.0, 1.0]])
    found = released(layout, question, model, asked=2, pool=3, selection=Selection(1.0, 1.5))
    assert [outcome.valid for outcome in found.outcomes] == [3, 3]
    never = Weighing(np.array([1.0, 0.0]), 100.0)
    nothing = released(layout, ask(never, layout, [[0.0, 0.0]]), never, asked=2, pool=3, selection=Selection(1.0, 1.5))
    assert (nothing.outcomes[0].status, nothing.outcomes[0].valid, nothing.pooled) == ("infeasible", 0, 0)


EVERYTHING = Manner(decode_again=True, refine=True)


@given(layouts(hows=HOWS, costs=True), SEEDS, st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([PLAIN, EVERYTHING]))
def test_a_set_from_a_pool_does_not_depend_on_the_other_rows_or_their_order(layout, seed, place, manner):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 8, rng, decode="median")
    model = random_model(layout, question, rng)

    def sets(rows: np.ndarray) -> Released:
        return released(
            layout,
            question.take(rows),
            model,
            asked=3,
            tries=600,
            place=place,
            manner=manner,
            pool=12,
            selection=BALANCED,
        )

    together, order = sets(np.arange(8)), rng.permutation(8)
    for rows in (order, order[:3], order[:1]):
        apart = sets(rows)
        assert [together.outcomes[row] for row in rows] == list(apart.outcomes)
        assert [sets_of(together)[row] for row in rows] == sets_of(apart)


@pytest.mark.parametrize("block", [1, 7, 100, 3000])
@pytest.mark.parametrize("place", [0.0, 0.7])
def test_the_block_size_changes_nothing_in_a_set_from_a_pool(monkeypatch, block, place):
    layout, rng = small_layout(), np.random.default_rng(1)
    question = random_question(layout, 30, rng, decode="median")
    model = Weighing(np.array([0.05, -0.01, 0.5, 0.5, 1.0]), 4.0)

    def sets() -> Released:
        return released(
            layout, question, model, asked=4, tries=700, place=place, manner=EVERYTHING, pool=12, selection=BALANCED
        )

    in_one = sets()
    assert {outcome.status for outcome in in_one.outcomes} >= {"found", "partial"}
    monkeypatch.setattr(stage, "BLOCK", block)
    assert same_release(sets(), in_one)


@given(layouts(hows=HOWS, costs=True), SEEDS, st.sampled_from([0.0, 0.2]), st.sampled_from([0.0, 1.0]))
def test_what_is_released_from_a_pool_is_valid_different_and_obeying_too(layout, seed, epsilon, place):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 5, rng, decode="median")
    model = random_model(layout, question, rng)
    found = released(
        layout,
        question,
        model,
        asked=4,
        tries=300,
        epsilon=epsilon,
        place=place,
        manner=EVERYTHING,
        pool=12,
        selection=BALANCED,
    )
    for row, levels in enumerate(sets_of(found)):
        assert len(set(levels)) == len(levels) == found.outcomes[row].found == min(4, found.outcomes[row].valid)
    proba = model.proba(found.cells)
    assert (proba[:, 1] > proba[:, 0]).all()
    assert (found.chance == proba[:, 1]).all()
    assert (layout.levels(found.cells) == found.levels).all()
    for row, after, values in zip(found.row, found.levels.tolist(), found.cells.tolist(), strict=True):
        assert slow_obeys(layout, question.levels[row].tolist(), after, values)


# A second value for a bin


@dataclass
class Exactly:
    """A model that grants those whose first cell is one of some numbers, and notes what it was asked."""

    numbers: tuple[float, ...]
    asked: list[list[float]] = field(default_factory=list)
    classes: tuple[str, ...] = ("refused", "granted")

    def proba(self, cells: np.ndarray) -> np.ndarray:
        self.asked += cells.tolist()
        granted = np.where(np.isin(cells[:, 0], self.numbers), 0.8, 0.3)
        return np.stack([1 - granted, granted], axis=1)


AGAIN = Manner(decode_again=True)


def aged(**fields: object) -> Layout:
    """Return a number in three bins with medians 21, 33.75 and 53.75, midpoints 24, 37.5 and 62.5, and a flag."""
    features = (
        Feature(name="age", kind="numeric", **fields),
        Feature(name="flag", kind="binary", levels=(0, 1)),
    )
    axis = numeric_axis((30.0, 45.0), low=18.0, high=80.0, missing=bool(fields.get("missing")))
    return Layout(Schema(features), (axis, categorical_axis(features[1])))


def of_age(layout: Layout, age: float, decode: Decode = "median") -> Question:
    return question_for(layout, np.array([[age, 0.0]]), decode=decode)


def test_where_only_the_other_value_of_a_bin_is_valid_a_second_look_finds_it():
    layout, model = aged(), Exactly((62.5,))
    assert released(layout, of_age(layout, 20.0), model).outcomes[0].status == "infeasible"
    model.asked.clear()
    found = released(layout, of_age(layout, 20.0), model, manner=AGAIN)
    assert sorted(found.cells.tolist()) == [[62.5, 0.0], [62.5, 1.0]]
    assert (found.levels[:, 0] == 2).all()
    assert (found.chance == 0.8).all()
    # Five proposals, four of which move the age: these are judged twice.
    assert len(model.asked) == found.outcomes[0].tries == 9
    assert (found.outcomes[0].found, found.outcomes[0].valid) == (2, 2)


def test_what_is_valid_at_once_keeps_its_first_value_and_is_not_looked_at_again(monkeypatch):
    monkeypatch.setattr(stage, "FEW", 0)
    layout, model = aged(), Exactly((53.75, 62.5))
    found = released(layout, of_age(layout, 20.0), model, manner=AGAIN)
    assert sorted(found.cells.tolist()) == [[53.75, 0.0], [53.75, 1.0]]
    assert not any(age == 62.5 for age, _ in model.asked)
    assert found.outcomes[0].tries == len(model.asked) == 7


def test_the_second_value_is_the_median_where_the_first_is_the_midpoint():
    layout, model = aged(), Exactly((53.75,))
    found = released(layout, of_age(layout, 20.0, "midpoint"), model, manner=AGAIN)
    assert sorted(found.cells.tolist()) == [[53.75, 0.0], [53.75, 1.0]]


def test_the_declared_range_holds_for_the_second_value_too():
    layout, model = aged(high=60.0), Exactly((62.5,))
    found = released(layout, of_age(layout, 20.0), model, manner=AGAIN)
    assert len(found.row) == 0
    assert [53.75, 1.0] in model.asked
    assert max(age for age, _ in model.asked) == 60.0  # the midpoint, 62.5, brought inside the range
    assert found.outcomes[0].tries == len(model.asked) == 9


@pytest.mark.parametrize(
    ("limits", "once", "twice"),
    [
        (Limits(where=["age + flag <= 60"]), [], [[53.75, 0.0], [53.75, 1.0]]),
        (Limits(max_cost=43.0), [[62.5, 0.0]], [[53.75, 1.0], [62.5, 0.0]]),
    ],
)
@pytest.mark.parametrize("together", [0, 512])
def test_where_the_first_value_of_a_bin_breaks_a_limit_that_the_other_keeps_the_other_is_tried(
    limits, once, twice, together, monkeypatch
):
    """From 20 years it is 42.5 to the midpoint of the last bin, 62.5, and 33.75 to its median; the flag costs 1."""
    monkeypatch.setattr(stage, "FEW", together)
    layout, model = aged(cost=0.0, cost_up=1.0), Exactly((53.75, 62.5))
    question = question_for(layout, np.array([[20.0, 0.0]]), decode="midpoint", limits=limits)
    for manner, expected in ((PLAIN, once), (AGAIN, twice)):
        model.asked.clear()
        found = released(layout, question, model, manner=manner)
        assert sorted(found.cells.tolist()) == expected
        assert found.outcomes[0].tries <= len(model.asked) <= found.outcomes[0].tries + together
        assert [62.5, 1.0] not in model.asked


def test_a_second_value_that_equals_the_first_is_not_judged_twice():
    model, layout = Weighing(np.array([1.0, 1.0]), 100.0), seven()
    found = released(layout, ask(model, layout, [[0.0, 0.0]]), model, manner=AGAIN)
    assert found.outcomes[0].tries == model.rows_asked == 7


def test_a_missing_value_that_stays_missing_is_not_judged_twice():
    layout, model = aged(missing=True, moves="rises"), Exactly((-1.0,))  # from missing there is no way up
    found = released(layout, of_age(layout, np.nan), model, manner=AGAIN)
    assert found.outcomes[0].tries == len(model.asked) == 1


def test_a_proof_that_nothing_is_valid_counts_combinations_and_not_looks():
    layout, model = aged(), Exactly((-1.0,))
    found = released(layout, of_age(layout, 20.0), model, manner=AGAIN)
    (outcome,) = found.outcomes
    assert (outcome.status, outcome.tries) == ("infeasible", 9)
    assert outcome.sentence == "all 5 combinations within the limits were tried; none changes the outcome"


@given(layouts(hows=HOWS, costs=True), SEEDS, st.sampled_from([0.0, 0.3]))
def test_a_second_look_never_loses_what_the_first_finds_and_tries_count_both(layout, seed, epsilon):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 4, rng, decode="median")
    model = random_model(layout, question, rng)
    once = released(layout, question, model, asked=40, tries=80, epsilon=epsilon)
    model.asked.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "FEW", 0)
        twice = released(layout, question, model, asked=40, tries=80, epsilon=epsilon, manner=AGAIN)
    assert twice.tries == model.rows_asked
    for row, outcome in enumerate(twice.outcomes):
        if outcome.found < 40:  # neither was cut short by a full set
            assert set(sets_of(once)[row]) <= set(sets_of(twice)[row])
            assert once.outcomes[row].tries <= outcome.tries <= 2 * once.outcomes[row].tries


@given(layouts(hows=HOWS, costs=True), SEEDS, st.sampled_from([0.0, 0.3]))
def test_few_proposals_are_asked_with_both_values_at_once_and_nothing_else_changes(layout, seed, epsilon):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 4, rng, decode="median")
    model = random_model(layout, question, rng)
    found, calls = [], []
    for together in (0, stage.FEW):
        model.asked.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stage, "FEW", together)
            found.append(released(layout, question, model, asked=10, tries=80, epsilon=epsilon, manner=AGAIN))
        calls.append(len(model.asked))
    one_by_one, at_once = found
    assert one_by_one.outcomes == at_once.outcomes
    assert (one_by_one.row == at_once.row).all()
    assert np.array_equal(one_by_one.cells, at_once.cells, equal_nan=True)
    assert np.array_equal(one_by_one.chance, at_once.chance)
    assert calls[1] <= calls[0]


# Asking the original model again


def a_release() -> Released:
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    question = ask(model, layout, [[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return released(layout, question, model, asked=2)


def answers(found: Released, granted: list[float]) -> np.ndarray:
    return np.array([[1 - p, p] for p in granted]).reshape(len(found.row), 2)


def test_confirming_what_still_holds_changes_only_the_chances():
    found = a_release()
    again = confirm(found, answers(found, [0.9] * 6))
    assert (again.chance == 0.9).all()
    assert again.outcomes == found.outcomes
    assert (again.levels == found.levels).all()


def test_what_the_model_takes_back_is_dropped_and_the_rest_ranked_anew():
    found = a_release()
    assert found.row.tolist() == [0, 0, 2, 2, 3, 3]
    again = confirm(found, answers(found, [0.1, 0.8, 0.5, 0.2, 0.6, 0.7]))  # a tie is taken back too
    assert again.row.tolist() == [0, 3, 3]
    assert again.rank.tolist() == [1, 1, 2]
    assert again.chance.tolist() == [0.8, 0.6, 0.7]
    assert (again.levels == found.levels[[1, 4, 5]]).all()
    assert (again.cells == found.cells[[1, 4, 5]]).all()
    assert again.valid.tolist() == [True] * 3
    partial, already, nothing, full = again.outcomes
    assert (partial.status, partial.found, partial.tries) == ("partial", 1, found.outcomes[0].tries)
    assert partial.sentence == (
        f"1 of 2 counterfactuals after {partial.tries} tries (the model took back others when asked again)"
    )
    assert already == ALREADY
    assert (nothing.status, nothing.found) == ("none_valid", 0)
    assert nothing.sentence == (
        f"none of {nothing.tries} proposals changes the outcome (the model took back others when asked again)"
    )
    assert full == found.outcomes[3]


def test_confirming_nothing_is_nothing():
    model, layout = Weighing(np.array([1.0, 1.0]), 100.0), seven()
    found = released(layout, ask(model, layout, [[0.0, 0.0]]), model)
    assert same_release(confirm(found, np.empty((0, 2))), found)


def test_what_the_model_takes_back_leaves_the_rest_of_the_pool_counted():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    question = ask(model, layout, [[0.0, 0.0], [0.0, 1.0]])
    found = released(layout, question, model, asked=2, pool=4, selection=Selection(1.0, 1.5))
    assert [outcome.valid for outcome in found.outcomes] == [4, 4]
    again = confirm(found, answers(found, [0.1, 0.8, 0.2, 0.3]))
    assert [(outcome.found, outcome.valid) for outcome in again.outcomes] == [(1, 3), (0, 2)]


# What counts as reached


@dataclass
class ByGrade:
    """A model of three classes by the grade, 0 to 3, and surer with the flag."""

    classes: tuple[str, ...] = ("low", "middle", "high")

    def proba(self, cells: np.ndarray) -> np.ndarray:
        answers = np.array([[0.8, 0.1, 0.1], [0.25, 0.5, 0.25], [0.1, 0.4, 0.5], [0.0, 0.1, 0.9]])
        return 0.5 * answers[cells[:, 0].astype(int)] + 0.5 * answers[np.clip(cells.sum(axis=1), 0, 3).astype(int)]


def goal_of(accepted: list[list[int]], ranges: list[tuple[float, float] | None] | None = None) -> Goal:
    """Return the goal of rows that take any of some classes, perhaps within a range of probability."""
    marked = np.array([[index in some for index in range(3)] for some in accepted])
    ends = np.array([(np.nan, np.nan) if each is None else each for each in ranges or [None] * len(accepted)])
    return Goal(marked, ends[:, 0], ends[:, 1])


def reaching(goal: Goal, rows: list[list[float]], **settings: object) -> tuple[Released, Question]:
    layout, model, cells = seven(), ByGrade(), np.array(rows)
    question = Question.of(layout, cells, model.proba(cells), goal)
    return released(layout, question, model, asked=50, **settings), question


def test_any_of_several_classes_will_do_and_their_probabilities_add():
    found, _ = reaching(goal_of([[1, 2], [0, 2], [1, 2]]), [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    grid = np.array([[grade, flag] for grade in range(4) for flag in (0, 1)], dtype=float)
    proba = ByGrade().proba(grid)
    for row, good in ((0, [1, 2]), (1, [0, 2])):
        rest = [index for index in range(3) if index not in good]
        valid = proba[:, good].max(axis=1) > proba[:, rest].max(axis=1)
        assert {tuple(cells) for cells in found.cells[found.row == row].tolist()} == {
            tuple(cells) for cells in grid[valid].tolist()
        } - {tuple(found.factual[row].tolist())}
        own = ByGrade().proba(found.cells[found.row == row])
        assert found.chance[found.row == row].tolist() == pytest.approx(own[:, good].sum(axis=1).tolist())
    assert found.outcomes[2] == ALREADY


def test_proposals_aim_at_the_accepted_class_that_is_likeliest_for_the_row_as_it_is():
    _, question = reaching(goal_of([[1, 2], [0, 1], [0, 1, 2]]), [[0.0, 1.0], [3.0, 0.0], [2.0, 0.0]])
    assert question.desired.tolist() == [1, 1, 2]
    assert question.already.tolist() == [False, False, True]


def test_a_range_of_probability_is_kept_at_both_ends_and_the_decision_does_not_count():
    found, question = reaching(
        goal_of([[2], [2], [2]], [(0.2, 0.3), (0.6, 0.95), (0.0, 0.2)]), [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    )
    assert question.already.tolist() == [False, False, True]
    grid = np.array([[grade, flag] for grade in range(4) for flag in (0, 1)], dtype=float)
    chance = ByGrade().proba(grid)[:, 2]
    for row, (low, high) in ((0, (0.2, 0.3)), (1, (0.6, 0.95))):
        expected = {tuple(cells) for cells, p in zip(grid.tolist(), chance, strict=True) if low <= p <= high}
        assert expected
        assert {tuple(cells) for cells in found.cells[found.row == row].tolist()} == expected


def test_the_best_probability_that_was_seen_is_kept_for_each_row():
    layout, model = seven(), Weighing(np.array([1.0, 0.5]), 100.0)
    question = ask(model, layout, [[0.0, 0.0], [3.0, 1.0]])
    pools = look(
        question, layout=layout, blackbox=model, proposer=uniform(layout, question), manner=PLAIN, pool=5, enough=5,
        budget=Budget(300),
    )  # fmt: skip
    top, below = (1 / (1 + np.exp(100.0 - score)) for score in (3.5, 3.0))
    assert pools.best.tolist() == pytest.approx([top, below])  # the row itself is no proposal


# How long a row looks


@dataclass
class Counting(Script):
    """A script that counts what is drawn for each row."""

    drawn: dict[int, int] = field(default_factory=dict)

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> np.ndarray:
        self.drawn |= {row: int(start) + count for row, start in zip(rows.tolist(), first, strict=True)}
        return super().propose(rows, first, count)


@pytest.mark.parametrize(("patience", "drawn"), [(None, 500), (60, 60), (1000, 500)])
def test_a_row_with_enough_for_a_set_goes_on_for_a_pool_only_as_long_as_patience_lasts(monkeypatch, patience, drawn):
    monkeypatch.setattr(stage, "ENUMERABLE", 1)
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    script = Counting([[3, 0], [2, 0], [1, 0]])
    question = ask(model, layout, [[0.0, 0.0]])
    found = released(layout, question, model, asked=2, pool=4, patience=patience, tries=500, proposer=script)
    assert drawn <= script.drawn[0] < drawn + 64
    assert (found.outcomes[0].status, found.outcomes[0].valid) == ("found", 2)


def test_a_row_without_enough_goes_on_whatever_the_patience(monkeypatch):
    monkeypatch.setattr(stage, "ENUMERABLE", 1)
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    script = Counting([[3, 0], [2, 0], [1, 0]])
    question = ask(model, layout, [[0.0, 0.0]])
    released(layout, question, model, asked=3, pool=4, patience=10, tries=500, proposer=script)
    assert script.drawn[0] == 500


def test_a_room_that_is_smaller_than_what_was_drawn_is_tried_whole_whatever_the_proposer_says():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    script = Counting([[1, 0]])
    found = released(layout, ask(model, layout, [[0.0, 0.0]]), model, asked=9, tries=5000, proposer=script)
    assert set(sets_of(found)[0]) == {(2, 0), (2, 1), (3, 0), (3, 1)}
    assert found.outcomes[0].reason == Reason(proven=True)
    assert script.drawn[0] < 100
    assert model.rows_asked == 7


def test_a_room_that_is_larger_than_the_tries_is_not_tried_whole():
    model, layout = Weighing(np.array([1.0, 0.0]), 1.5), seven()
    script = Counting([[1, 0]])
    found = released(layout, ask(model, layout, [[0.0, 0.0]]), model, asked=9, tries=7, proposer=script)
    assert (found.outcomes[0].status, model.rows_asked) == ("none_valid", 1)


# Under limits of the rows' own


def limits_for(layout: Layout, rows: int, rng: np.random.Generator) -> list[tuple[Limits, np.ndarray]]:
    """Return limits of several sorts, each for some of the rows."""
    names = layout.schema.names
    numbers = [feature.name for feature in layout.schema.features if feature.numeric]
    sorts = [
        Limits(lock=[str(rng.choice(names))]),
        Limits(max_changes=int(rng.integers(1, 4))),
        Limits(max_cost=float(rng.choice([1.0, 2.5, 6.0]))),
        *(Limits(where=[f"{name} <= was.{name} + 3"]) for name in numbers[:1]),
        *(Limits(where=[f"{numbers[0]} + {numbers[1]} >= was.{numbers[1]}"]) for _ in numbers[1:2]),
        *(Limits(permit={name: (-20.0, 20.0)}) for name in numbers[:1]),
    ]
    return [(limits, rng.random(rows) < 0.5) for limits in sorts]


@given(layouts(hows=HOWS, costs=True), SEEDS, st.sampled_from([0.0, 1.0]), st.sampled_from([30, 600]))
def test_under_limits_too_a_set_does_not_depend_on_the_other_rows_or_their_order(layout, seed, place, tries):
    rng = np.random.default_rng(seed)
    cells = random_cells(layout, 6, rng)
    question = question_for(layout, cells, limits=limits_for(layout, 6, rng))
    model = random_model(layout, question, rng)

    def sets(rows: np.ndarray) -> Released:
        return released(
            layout, question.take(rows), model, asked=3, tries=tries, place=place, manner=EVERYTHING, pool=12,
            selection=BALANCED, patience=40,
        )  # fmt: skip

    together, order = sets(np.arange(6)), rng.permutation(6)
    for rows in (order, order[:2], order[:1]):
        apart = sets(rows)
        assert [together.outcomes[row] for row in rows] == list(apart.outcomes)
        for place_of, row in enumerate(rows):
            for name in ("cells", "chance", "cost"):
                mine, theirs = getattr(apart, name)[apart.row == place_of], getattr(together, name)[together.row == row]
                assert np.array_equal(mine, theirs, equal_nan=True)


def test_limits_on_one_row_leave_the_others_as_they_would_be_without():
    layout, rng = small_layout(), np.random.default_rng(4)
    cells = random_cells(layout, 12, rng)
    model = Weighing(np.array([0.05, -0.01, 0.5, 0.5, 1.0]), 3.0)
    bound = np.arange(12) % 3 == 0
    limits = Limits(max_changes=1, lock=["age"], where=["school >= was.school"])
    free = released(layout, question_for(layout, cells, decode="median"), model, asked=4)
    some = released(layout, question_for(layout, cells, decode="median", limits=[(limits, bound)]), model, asked=4)
    for row in range(12):
        same = sets_of(free)[row] == sets_of(some)[row] and free.outcomes[row] == some.outcomes[row]
        assert same or bound[row]
    changed = some.levels != layout.levels(cells)[some.row]
    assert (changed[bound[some.row]].sum(axis=1) == 1).all()
    assert not changed[bound[some.row], 0].any()
    assert any(sets_of(some)[row] for row in np.flatnonzero(bound))


# What a change costs


def test_a_release_tells_what_each_change_costs():
    layout, rng = small_layout(), np.random.default_rng(5)
    schema = layout.schema.edit("age", cost=2.0, cost_up=0.5).edit("debt", cost_down=0.01)
    schema = schema.edit("school", cost=0.25, cost_down=3.0).edit("job", level_costs=(0.0, 1.0, 4.0))
    layout = Layout(schema, layout.axes)
    question = random_question(layout, 15, rng, decode="median")
    found = released(layout, question, Same((0.0, 1.0)), asked=6)
    assert len(found.row) > 60
    for row, after, cost in zip(found.row, found.cells.tolist(), found.cost, strict=True):
        was = question.cells[row].tolist()
        moved = [not (a == b or (np.isnan(a) and np.isnan(b))) for a, b in zip(was, after, strict=True)]
        own = 0.0
        own += (2.0 + 0.5 * (after[0] - was[0])) if moved[0] else 0.0
        own += (1.0 + 0.01 * np.nan_to_num(was[1] - after[1])) if moved[1] else 0.0
        own += (1.0 + [0.0, 1.0, 4.0][int(after[2])]) if moved[2] else 0.0
        own += (0.25 + 3.0 * max(was[3] - after[3], 0)) if moved[3] else 0.0
        assert cost == pytest.approx(own)


def test_the_cheapest_are_chosen_and_read_first_where_cost_is_what_counts():
    layout, rng = small_layout(), np.random.default_rng(6)
    layout = Layout(layout.schema.edit("school", cost=0.25).edit("job", cost=3.0), layout.axes)
    question = random_question(layout, 10, rng, decode="median")
    model = Same((0.0, 1.0))
    pool = released(layout, question, model, asked=20)
    found = released(layout, question, model, asked=4, pool=20, selection=Selection(0.0, 0.0, cost=1.0))
    for row in range(10):
        mine, all_there_are = found.cost[found.row == row], np.sort(pool.cost[pool.row == row])
        assert mine.tolist() == all_there_are[: len(mine)].tolist()
        assert mine.tolist() == sorted(mine.tolist())


def test_confirming_tells_the_class_that_the_model_now_puts_each_one_in():
    found, _ = reaching(goal_of([[1, 2], [2]], [None, (0.2, 0.3)]), [[0.0, 0.0], [0.0, 0.0]])
    again = confirm(found, ByGrade().proba(found.cells))
    assert same_release(replace(again, predicted=found.predicted), found)
    assert again.predicted.tolist() == decide(ByGrade().proba(found.cells)).tolist()
    assert set(again.predicted[again.row == 1].tolist()) != {2}
