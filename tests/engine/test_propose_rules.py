"""Candidates under rules between features: effects follow their causes, at every place of the dial."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from engine.proposing import (
    EVERY_PLACE,
    TINY,
    changes,
    distance,
    even_draws,
    exact_law,
    likelihood,
    product_law,
    proposals,
    tiny_counterer,
    two_ways,
    untrained,
)
from l2c.core.layout import Layout
from l2c.core.limits import Limits
from l2c.core.method import Question
from l2c.core.rules import Implies
from l2c.core.streams import Streams
from l2c.engine.recipe import Recipe
from l2c.engine.reference import ReferenceLaw
from laws import layout_of
from oracles import slow_obeys
from tables import HOWS, question_for

RULED_CELLS = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


def ruled(*rules: Implies) -> Layout:
    return Layout(replace(TINY.schema, rules=rules), TINY.axes)


def ruled_question(layout: Layout, limits: Limits = Limits()) -> Question:  # noqa: B008
    return question_for(layout, RULED_CELLS, current=[0, 0, 1], desired=[1, 1, 0], limits=limits)


def bound_law(
    rule: Implies, law: ReferenceLaw, exponent: float, local: np.ndarray, selection: np.ndarray, own: list[int]
) -> dict[tuple[int, ...], float]:
    """Return the probability of every proposal for one row, the effect of one rule drawn again where it has to be.

    It is then drawn as it is by itself, given all the others: it stays unless selected, and follows the law if so.
    """
    layout, total = ruled(rule), defaultdict(float)
    effect = layout.schema.index(rule.effect)
    start, size = int(TINY.offsets[effect]), int(TINY.sizes[effect])
    for levels, p in exact_law(law, exponent, local, selection, own).items():
        if slow_obeys(layout, own, levels, levels):
            total[levels] += p
            continue
        options = [(*levels[:effect], j, *levels[effect + 1 :]) for j in range(size)]
        weights = [local[start + j] * likelihood(law, option) ** exponent for j, option in enumerate(options)]
        mass = [
            float(slow_obeys(layout, own, option, option))
            * (selection[effect] * weight / sum(weights) + (1 - selection[effect]) * (j == own[effect]))
            for j, (option, weight) in enumerate(zip(options, weights, strict=True))
        ]
        for option, each in zip(options, mass, strict=True):
            total[option] += p * each / sum(mass) if p else 0.0
    return total


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("place", [0.0, 1e-9, 0.5, 1.0])
def test_an_effect_follows_its_law_given_its_cause_and_the_others(place, how):
    for rule in (Implies("f0", "f1", how), Implies("f2", "f0", how)):
        layout = ruled(rule)
        question, fitted = ruled_question(layout), replace(tiny_counterer(), layout=layout)
        local, selection = fitted.local(question), fitted.selection(question)
        drawn = proposals(fitted, question, 4, 20_000, place)
        for row, desired in enumerate(question.desired):
            own = question.levels[row].tolist()
            expected = bound_law(rule, fitted.laws[desired], place, local[row], selection[row], own)
            assert distance(drawn[row], expected) < 0.02


@pytest.mark.parametrize("how", HOWS)
def test_draws_from_a_given_law_are_bound_too(how):
    rule = Implies("f0", "f1", how)
    layout = ruled(rule)
    question, fitted = ruled_question(layout), replace(tiny_counterer(), layout=layout)
    law, rows = fitted.even_law(question), np.arange(3)
    drawn = fitted.proposer(question, Streams.for_rows(question.cells, 1), 0.5).propose_from(
        law, rows, np.zeros(3, dtype=np.int64), 20_000
    )
    for row, own in enumerate(question.levels.tolist()):
        expected = defaultdict(float)
        for levels, p in product_law(law[row]).items():
            options = [(levels[0], j, levels[2]) for j in range(2)]
            kept = [option for option in options if slow_obeys(layout, own, option, option)]
            share = sum(law[row, 3 + option[1]] for option in kept)
            for option in kept:
                expected[option] += p * law[row, 3 + option[1]] / share
        assert distance(drawn[row], expected) < 0.015


@pytest.mark.parametrize("place", EVERY_PLACE)
def test_chains_and_several_causes_are_followed_at_every_place(place):
    layout = layout_of((3, 3, 3, 3, 2))
    rules = (
        Implies("f2", "f3"),
        Implies("f0", "f1"),
        Implies("f1", "f2", "must_not_fall"),
        Implies("f0", "f4", "only_if"),
    )
    tied = Layout(replace(layout.schema, rules=rules), layout.axes)
    question = question_for(tied, np.array([[1.0, 1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 2.0, 0.0, 0.0]]))
    fitted = untrained(tied, Recipe(selector="constant", selection=0.6), question)
    for drawn in (proposals(fitted, question, 0, 2000, place), even_draws(fitted, question, 2000, place)):
        for row, own in enumerate(question.levels.tolist()):
            levels = {tuple(one) for one in drawn[row].tolist()}
            assert all(slow_obeys(tied, own, one, one) for one in levels)
            assert len(levels) > 15
            assert {one[0] > own[0] for one in levels} == {False, True}


@pytest.mark.parametrize("place", EVERY_PLACE)
@pytest.mark.parametrize("most", [None, 2])
def test_an_effect_that_had_to_follow_is_drawn_from_its_own_rows_stream(most, place):
    layout = layout_of((3, 9, 2))
    tied = Layout(replace(layout.schema, rules=(Implies("f0", "f1"),)), layout.axes)
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (10, 3)).astype(np.float64)
    question = two_ways(question_for(tied, cells, limits=Limits(max_changes=most)), rng)
    fitted = untrained(tied, Recipe(selector="constant", selection=0.5), question)
    together = proposals(fitted, question, 0, 60, place)
    for rows in ([3], [9, 0, 4], list(range(10))[::-1]):
        assert (proposals(fitted, question.take(np.array(rows)), 0, 60, place) == together[rows]).all()
    proposer = fitted.proposer(question, Streams.for_rows(cells, 0), place)
    assert (proposer.propose(np.array([7, 2]), np.array([30, 5]), 20) == [together[7, 30:50], together[2, 5:25]]).all()


def test_an_effect_torn_between_two_causes_is_left_for_the_check_after_it_and_nothing_else_is():
    rules = (Implies("f0", "f1"), Implies("f2", "f1", "only_if"))
    layout = ruled(*rules)
    question, fitted = ruled_question(layout), replace(tiny_counterer(), layout=layout)
    for place in EVERY_PLACE:
        drawn, own = proposals(fitted, question, 4, 2000, place)[0], question.levels[0].tolist()
        broken = [one for one in drawn.tolist() if not slow_obeys(layout, own, one, one)]
        assert all(one[0] > own[0] and one[2] <= own[2] for one in broken)
        assert len(broken) < 1000


@pytest.mark.parametrize("place", EVERY_PLACE)
@pytest.mark.parametrize("most", [1, 2, 3])
def test_few_changes_and_rules_hold_together(most, place):
    rules = (Implies("f0", "f1"), Implies("f1", "f2", "must_not_fall"))
    layout = ruled(*rules)
    question = ruled_question(layout, Limits(max_changes=most))
    fitted = replace(tiny_counterer(), layout=layout)
    for drawn in (proposals(fitted, question, 4, 2000, place), even_draws(fitted, question, 2000, place)):
        assert (changes(question, drawn) <= most).all()
        for row, own in enumerate(question.levels.tolist()):
            assert all(slow_obeys(layout, own, one, one) for one in drawn[row].tolist())
        # A cause that rises takes its effect with it, so that one change is too few for it.
        assert (drawn[0, :, 0] > 1).any() == (most > 1)
