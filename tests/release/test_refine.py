"""A law of its own for a hard row: the refinement against a loop, and what it does for coverage."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import l2c.release.hard_rows as hard_rows
import l2c.release.search as stage
from l2c.core.explanation import Released
from l2c.core.limits import NO_LIMITS, Limits
from l2c.core.method import Question
from l2c.core.streams import Streams
from l2c.engine.dial import Dial
from l2c.engine.encode import Encoder
from l2c.engine.networks import Dense
from l2c.engine.propose import Counterer, Draws
from l2c.engine.recipe import Recipe
from l2c.engine.reference import fit_reference
from l2c.release.budget import Budget, Manner
from l2c.release.explain import look
from l2c.release.refine import (
    ELITE_SHARE,
    EVEN_SHARE,
    HARD_AFTER,
    HARD_BELOW,
    TIGHT_AFTER,
    TIGHT_BELOW,
    is_hard,
    refined,
)
from l2c.release.select import Selection
from laws import layout_of
from tables import SEEDS, layouts, question_for, random_levels

# What a refined law is


def slow_refined(layout, even, row, levels, chance):
    """Return each row's next law, one proposal and one level at a time."""
    laws = []
    for which, start in enumerate(even.tolist()):
        mine = [n for n in range(len(row)) if row[n] == which]
        best = sorted(mine, key=lambda n: (-chance[n], n))[: math.ceil(ELITE_SHARE * len(mine))]
        law = []
        for i, size in enumerate(layout.sizes.tolist()):
            for level in range(size):
                flat = start[len(law)]
                share = sum(levels[n][i] == level for n in best) / len(best) if best else flat
                law.append(EVEN_SHARE * flat + (1 - EVEN_SHARE) * share)
        laws.append(law)
    return np.array(laws)


@given(layouts(), SEEDS, st.integers(0, 90))
def test_a_refined_law_is_the_share_of_levels_among_the_best_mixed_with_the_even_law(layout, seed, proposals):
    rng = np.random.default_rng(seed)
    even = rng.uniform(0, 1, (4, layout.width))
    even /= np.repeat(np.add.reduceat(even, layout.offsets, axis=1), layout.sizes, axis=1)
    row = rng.integers(0, 3, proposals)  # the last row has none
    levels = random_levels(layout, (proposals,), rng)
    chance = np.round(rng.uniform(0, 1, proposals), 1)  # with ties
    law = refined(layout, even, row, levels, chance)
    np.testing.assert_allclose(law, slow_refined(layout, even, row, levels.tolist(), chance), atol=1e-12)
    np.testing.assert_allclose(np.add.reduceat(law, layout.offsets, axis=1), 1)
    np.testing.assert_allclose(law[3], even[3])


def test_what_the_even_law_allows_stays_possible_and_what_it_forbids_impossible():
    layout = layout_of((3, 2))
    even = np.array([[0.5, 0.5, 0.0, 0.5, 0.5]])
    law = refined(layout, even, np.zeros(5, dtype=np.int64), np.zeros((5, 2), dtype=np.int16), np.ones(5))
    assert (law[even > 0] >= EVEN_SHARE * 0.5).all()
    assert law[0, 2] == 0


def test_the_same_proposals_refine_a_law_in_the_same_way_beside_any_others():
    layout, rng = layout_of((3, 2, 4)), np.random.default_rng(0)
    even, row = rng.uniform(0, 1, (3, 9)), np.sort(rng.integers(0, 3, 80))
    levels, chance = random_levels(layout, (80,), rng), rng.uniform(0, 1, 80)
    together = refined(layout, even, row, levels, chance)
    for which in range(3):
        mine = row == which
        alone = refined(layout, even[[which]], np.zeros(mine.sum(), dtype=np.int64), levels[mine], chance[mine])
        assert (alone[0] == together[which]).all()


@pytest.mark.parametrize(
    ("valid", "drawn", "hard"),
    [
        (0, HARD_AFTER - 1, False),
        (0, HARD_AFTER, True),
        (math.ceil(HARD_BELOW * HARD_AFTER), HARD_AFTER, False),
        (math.ceil(HARD_BELOW * HARD_AFTER) - 1, HARD_AFTER, True),
        (199, 10_000, True),
        (200, 10_000, False),
    ],
)
def test_a_row_is_hard_once_it_has_drawn_enough_and_hardly_any_was_valid(valid, drawn, hard):
    assert is_hard(np.array([valid]), np.array([drawn]), np.array([False])).tolist() == [hard]


@pytest.mark.parametrize(
    ("valid", "drawn", "hard"),
    [
        (0, TIGHT_AFTER - 1, False),
        (0, TIGHT_AFTER, True),
        (math.ceil(TIGHT_BELOW * TIGHT_AFTER), TIGHT_AFTER, False),
        (math.ceil(TIGHT_BELOW * TIGHT_AFTER) - 1, TIGHT_AFTER, True),
        (math.ceil(TIGHT_BELOW * 9000), 9000, False),
    ],
)
def test_a_row_that_may_change_only_so_many_features_is_hard_sooner(valid, drawn, hard):
    assert is_hard(np.array([valid]), np.array([drawn]), np.array([True])).tolist() == [hard]


# What it does for a row


@pytest.fixture(autouse=True)
def only_what_is_drawn(monkeypatch):
    """Try no room whole, however small it is: here the draws themselves are looked at."""
    monkeypatch.setattr(stage, "ENUMERABLE", 1)


HARD = layout_of((4,) * 6)


@dataclass
class Lock:
    """A model that grants whoever has the top level in enough features, and is surer the more there are."""

    needed: int = 5
    classes: tuple[str, ...] = ("refused", "granted")
    asked: list[int] = field(default_factory=list)

    def proba(self, cells: np.ndarray) -> np.ndarray:
        self.asked.append(len(cells))
        granted = 1 / (1 + np.exp(self.needed - 0.5 - (cells == 3).sum(axis=1)))
        return np.stack([1 - granted, granted], axis=1)


def misled(question: Question, place: float = 0.0, seed: int = 0) -> Draws:
    """Return draws of a method that has learned to want level 0 of every feature, wrongly."""
    recipe = Recipe(selector="constant", selection=0.9)
    encoder = Encoder.fit(HARD, "levels", question.cells)
    wanted = np.zeros(HARD.width, dtype=np.float32)
    wanted[HARD.offsets] = 9.0
    generator = (Dense(np.zeros((HARD.width, encoder.width), dtype=np.float32), wanted),)
    laws = (fit_reference(HARD, question.levels),) * 2
    method = Counterer(HARD, recipe, encoder, generator, (), laws, 1.75, Dial())
    return method.proposer(question, Streams.for_rows(question.cells, seed), place)


def rows_to_unlock(limits: Limits = NO_LIMITS) -> Question:
    """Return rows of which some are near to the top already."""
    levels = np.array(
        [[0, 0, 0, 0, 0, 0], [1, 2, 0, 1, 0, 2], [3, 3, 3, 3, 0, 0], [2, 2, 2, 2, 2, 2], [3, 0, 1, 0, 0, 1]],
        dtype=np.int16,
    )
    return question_for(HARD, levels.astype(float), limits=limits)


def unlocked(question: Question, *, refine: bool, place: float = 0.0, tries: int = 20_000, pool: int = 8) -> Released:
    pools = look(
        question,
        layout=HARD,
        blackbox=Lock(),
        proposer=misled(question, place),
        manner=Manner(refine=refine),
        pool=pool,
        enough=4,
        budget=Budget(tries),
    )
    return pools.release(4, Selection(1.0, 1.5))


def sets_of(found: Released) -> list[list[list[int]]]:
    return [found.levels[found.row == row].tolist() for row in range(len(found.factual))]


@pytest.mark.parametrize("place", [0.0, 1.0])
def test_rows_that_the_learned_law_never_answers_are_answered_with_refinement_and_not_without(place):
    question = rows_to_unlock()
    without = unlocked(question, refine=False, place=place)
    assert sum(outcome.found == 0 for outcome in without.outcomes) >= 4
    found = unlocked(question, refine=True, place=place)
    assert [(outcome.status, outcome.found) for outcome in found.outcomes] == [("found", 4)] * 5
    assert ((found.levels == 3).sum(axis=1) >= 5).all()


def test_refinement_finds_more_than_the_even_law_that_it_begins_with(monkeypatch):
    question = rows_to_unlock().take(np.array([0, 1]))
    moved = unlocked(question, refine=True, pool=19)
    monkeypatch.setattr(hard_rows, "refined", lambda layout, even, *_: even)  # noqa: ARG005
    stuck = unlocked(question, refine=True, pool=19)
    for better, worse in zip(moved.outcomes, stuck.outcomes, strict=True):
        assert better.valid == 19 > 1.5 * worse.valid  # all there are: six at the top, or five and three others


TIGHT = Limits(max_changes=5)
EITHER = pytest.mark.parametrize("limits", [NO_LIMITS, TIGHT], ids=["free", "tight"])


@EITHER
def test_what_a_hard_row_gets_does_not_depend_on_the_batch_or_its_order(limits):
    question = rows_to_unlock(limits)
    together = unlocked(question, refine=True)
    for rows in ([3, 1, 4, 0, 2], [2, 0], [1], [0, 0, 1]):
        apart = unlocked(question.take(np.array(rows)), refine=True)
        assert list(apart.outcomes) == [together.outcomes[row] for row in rows]
        assert sets_of(apart) == [sets_of(together)[row] for row in rows]


@EITHER
@pytest.mark.parametrize("block", [3, 500, 9000])
def test_what_a_hard_row_gets_does_not_depend_on_the_block_size(monkeypatch, block, limits):
    question = rows_to_unlock(limits)
    in_one = unlocked(question, refine=True)
    monkeypatch.setattr(stage, "BLOCK", block)
    in_many = unlocked(question, refine=True)
    assert in_many.outcomes == in_one.outcomes
    assert sets_of(in_many) == sets_of(in_one)


@dataclass
class Noting:
    """Draws that note which rows were given a law of their own, and where in their streams."""

    draws: Draws
    said: list[tuple[int, int]] = field(default_factory=list)
    begun: dict[int, np.ndarray] = field(default_factory=dict)

    def propose(self, rows: np.ndarray, first: np.ndarray, count: int) -> np.ndarray:
        return self.draws.propose(rows, first, count)

    def even_law(self, rows: np.ndarray) -> np.ndarray:
        return self.draws.even_law(rows)

    def propose_from(self, law: np.ndarray, rows: np.ndarray, first: np.ndarray, count: int) -> np.ndarray:
        assert ((law > 0) == (self.draws.even_law(rows) > 0)).all()
        self.said += zip(rows.tolist(), first.tolist(), strict=True)
        self.begun = dict(zip(rows.tolist(), law, strict=True)) | self.begun
        return self.draws.propose_from(law, rows, first, count)


def noted(question: Question, needed: int) -> tuple[Released, Noting]:
    proposer = Noting(misled(question))
    pools = look(
        question,
        layout=HARD,
        blackbox=Lock(needed),
        proposer=proposer,
        manner=Manner(refine=True),
        pool=4,
        enough=4,
        budget=Budget(2500),
    )
    return pools.release(4, Selection()), proposer


def test_only_a_hard_row_gets_a_law_of_its_own_and_not_before_it_has_drawn_enough():
    question = rows_to_unlock().take(np.array([1, 2, 3]))
    _, proposer = noted(question, needed=0)
    assert proposer.said == []
    found, proposer = noted(question, needed=7)
    assert {row for row, _ in proposer.said} == {0, 1, 2}
    assert min(first for _, first in proposer.said) >= HARD_AFTER
    assert max(first for _, first in proposer.said) < 2500
    assert all(outcome.status == "none_valid" and 0 < outcome.tries <= 2500 for outcome in found.outcomes)


def test_a_tight_row_gets_a_law_of_its_own_sooner_and_one_that_has_listened_already():
    free, tight = rows_to_unlock(), rows_to_unlock(TIGHT)
    _, proposer = noted(free, needed=7)
    for row, law in proposer.begun.items():
        assert (law == proposer.draws.even_law(np.array([row]))[0]).all()
    _, proposer = noted(tight, needed=7)
    assert set(proposer.begun) == set(range(5))
    assert all(TIGHT_AFTER <= first < HARD_AFTER for _, first in sorted(proposer.said, key=lambda one: one[1])[:5])
    moved = {row for row, law in proposer.begun.items() if (law != proposer.draws.even_law(np.array([row]))[0]).any()}
    assert moved == {1, 2, 3, 4}  # the first row is at level 0 already: it was proposed nothing that it could hear of


def test_a_tight_row_is_answered_with_fewer_questions_than_a_law_that_does_not_listen(monkeypatch):
    """Only the five right changes of the first row are granted, of 4 ** 6 combinations."""
    question = rows_to_unlock(TIGHT).take(np.array([0]))
    listening = unlocked(question, refine=True, pool=4)
    monkeypatch.setattr(hard_rows, "refined", lambda layout, even, *_: even)  # noqa: ARG005
    deaf = unlocked(question, refine=True, pool=4)
    assert [outcome.found for outcome in listening.outcomes] == [4]
    assert ((listening.levels != question.levels).sum(axis=1) == 5).all()
    assert listening.tries < 0.7 * deaf.tries
