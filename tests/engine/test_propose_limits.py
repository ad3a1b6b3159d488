"""Candidates within limits: few changes, what must change, what is closed, and what costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.proposing import (
    EVERY_PLACE,
    PLACES,
    RECIPES,
    TIED,
    TINY,
    WORLDS,
    changes,
    counterer,
    distance,
    even_draws,
    exact_law,
    given_that,
    product_law,
    proposals,
    random_limits,
    tiny_counterer,
    tiny_question,
    torn,
    two_ways,
    untrained,
)
from l2c.core.layout import Layout
from l2c.core.limits import Limits
from l2c.core.streams import Streams
from l2c.engine.constrain import feature_reluctance, level_reluctance
from l2c.engine.decode import decode_levels
from l2c.engine.recipe import PAPER, Recipe
from l2c.engine.reference import fit_reference
from laws import layout_of
from oracles import slow_obeys
from tables import SEEDS, question_for, random_levels, random_question, small_layout

# At most so many changes


@pytest.mark.parametrize("most", [1, 2])
def test_at_0_draws_have_the_law_of_independent_features_given_that_so_few_change(most):
    question, fitted = tiny_question(Limits(max_changes=most)), tiny_counterer()
    rows = np.arange(3)
    laws = {"learned": fitted.law(question), "even": fitted.even_law(question)}
    draws = fitted.proposer(question, Streams.for_rows(question.cells, 4))
    for law in laws.values():
        drawn = draws.propose_from(law, rows, np.zeros(3, dtype=np.int64), 30_000)
        for row, own in enumerate(question.levels.tolist()):
            few = lambda levels, own=own: sum(a != b for a, b in zip(levels, own, strict=True)) <= most  # noqa: E731
            assert distance(drawn[row], given_that(product_law(law[row]), few)) < 0.015
    assert (proposals(fitted, question, 4, 50) == draws.propose(rows, np.zeros(3, dtype=np.int64), 50)).all()


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("place", [0.5, 1.0])
def test_above_0_at_most_so_many_features_are_selected_and_those_fit_the_kept_ones(place, most):
    question, fitted = tiny_question(Limits(max_changes=most)), tiny_counterer()
    local, selection = fitted.local(question), fitted.selection(question)
    drawn = proposals(fitted, question, 4, 30_000, place)
    for row, desired in enumerate(question.desired):
        own = question.levels[row].tolist()
        expected = exact_law(fitted.laws[desired], place, local[row], selection[row], own, most)
        assert distance(drawn[row], expected) < 0.015


@given(TIED, RECIPES, SEEDS, PLACES, st.data())
def test_no_draw_changes_more_than_its_row_may_also_where_effects_follow(layout, recipe, seed, place, data):
    rng, most = np.random.default_rng(seed), data.draw(st.integers(1, 3))
    rows = rng.random(5) < 0.7
    question = two_ways(random_question(layout, 5, rng, limits=[(Limits(max_changes=most), rows)]), rng)
    fitted = counterer(layout, recipe, question, rng)
    for drawn in (proposals(fitted, question, 2, 20, place), even_draws(fitted, question, 20, place)):
        assert (changes(question, drawn)[rows] <= most).all()
        if not torn(layout) and recipe.epsilon == 0:
            values = decode_levels(layout, drawn.reshape(100, -1), question.room.values, np.repeat(np.arange(5), 20))
            for k, one in enumerate(drawn.reshape(100, -1).tolist()):
                assert slow_obeys(layout, question.levels[k // 20].tolist(), one, values[k].tolist())


@given(WORLDS, RECIPES, SEEDS, PLACES)
def test_under_limits_of_every_sort_no_draw_changes_more_unless_more_must(layout, recipe, seed, place):
    rng = np.random.default_rng(seed)
    question = two_ways(random_question(layout, 6, rng, limits=random_limits(layout, 6, rng)), rng)
    room = question.room
    can = room.must_change(layout, question.levels).sum(axis=1) <= room.changes
    fitted = counterer(layout, recipe, question, rng)
    for drawn in (proposals(fitted, question, 2, 20, place), even_draws(fitted, question, 20, place)):
        assert (changes(question, drawn)[can] <= room.changes[can, None]).all()


@pytest.mark.parametrize("place", EVERY_PLACE)
def test_a_row_that_may_change_nothing_stays_as_it_is(place):
    question, fitted = tiny_question(Limits(min_sparsity=1.0)), tiny_counterer()
    assert (question.room.changes == 0).all()
    assert (changes(question, proposals(fitted, question, 4, 100, place)) == 0).all()
    assert (changes(question, even_draws(fitted, question, 100)) == 0).all()


@pytest.mark.parametrize("place", EVERY_PLACE)
def test_a_limit_that_leaves_all_features_free_changes_no_draw(place):
    fitted = tiny_counterer()
    free, loose = tiny_question(), tiny_question(Limits(max_changes=3, min_sparsity=0.0, max_cost=3.0))
    assert (proposals(fitted, loose, 4, 200, place) == proposals(fitted, free, 4, 200, place)).all()


@pytest.mark.parametrize("place", EVERY_PLACE)
def test_what_cannot_move_takes_nothing_of_the_few_changes_from_what_can(place):
    layout = layout_of((3,) * 6)
    features = tuple(replace(each, moves="never" if i < 4 else "both") for i, each in enumerate(layout.schema.features))
    stiff = Layout(replace(layout.schema, features=features), layout.axes)
    question = question_for(stiff, np.ones((1, 6)), limits=Limits(max_changes=1))
    people = fit_reference(stiff, random_levels(stiff, (2000,), np.random.default_rng(0)))
    fitted = replace(untrained(stiff, Recipe(selector="absent"), question), laws=(people, people))
    # One of the last two is selected in nearly every draw, and then stays in about a third of them.
    drawn = proposals(fitted, question, 4, 3000, place)
    assert changes(question, drawn).mean() > 0.5
    assert (drawn[:, :, :4] == 1).all()


# What must change


@pytest.mark.parametrize("place", EVERY_PLACE)
@pytest.mark.parametrize("most", [None, 1, 2])
@pytest.mark.parametrize("where", ["f0 == '0.1'", "f0 != was.f0", "f0 not in ['0.0', '0.2']"])
def test_a_feature_whose_own_value_a_condition_rules_out_always_changes(where, most, place):
    question = tiny_question(Limits(where=(where,), max_changes=most))
    fitted = tiny_counterer(Recipe(selector="constant", selection=0.1))
    assert question.room.must_change(TINY, question.levels)[:, 0].all()
    for drawn in (proposals(fitted, question, 4, 500, place), even_draws(fitted, question, 500, place)):
        assert (drawn[:, :, 0] != question.levels[:, None, 0]).all()
        if where != "f0 != was.f0":
            assert (drawn[:, :, 0] == 1).all()
        assert (drawn[:, :, 1] != question.levels[:, None, 1]).any() == (most != 1)


def test_what_must_change_is_selected_and_follows_the_law_of_its_other_levels():
    question, fitted = tiny_question(Limits(where=("f0 != was.f0",))), tiny_counterer()
    free = tiny_question()
    assert (fitted.selection(question)[:, 0] == 1).all()
    assert (fitted.selection(question)[:, 1:] == fitted.selection(free)[:, 1:]).all()
    for law, local in ((fitted.law(question), fitted.local(free)), (fitted.even_law(question), np.ones((3, 7)))):
        for row, own in enumerate(question.levels[:, 0].tolist()):
            others = [0.0 if j == own else local[row, j] for j in range(3)]
            np.testing.assert_allclose(law[row, :3], np.array(others) / sum(others))


@pytest.mark.parametrize("place", EVERY_PLACE)
def test_a_feature_that_must_change_and_cannot_stays_and_the_others_are_drawn(place):
    question = tiny_question(Limits(where=("f0 != was.f0",), lock=("f0",)))
    fitted = tiny_counterer()
    drawn = proposals(fitted, question, 4, 300, place)
    assert (drawn[:, :, 0] == question.levels[:, None, 0]).all()
    assert (drawn[:, :, 1:] != question.levels[:, None, 1:]).any()


# What is closed


def test_a_closed_level_has_no_probability_and_in_the_papers_preset_a_backward_one_epsilon():
    layout, rng = small_layout(), np.random.default_rng(3)
    question = random_question(layout, 20, rng, limits=Limits(lock=("school",), permit={"job": ["clerk", "cook"]}))
    room = question.room
    shut = ~room.open & ~room.backwards
    assert shut.any()
    assert room.backwards.any()
    for recipe in (Recipe(), PAPER):
        fitted = counterer(layout, replace(recipe, selector="absent"), question, rng)
        law, even = fitted.law(question), fitted.even_law(question)
        assert (law[shut] == 0).all()
        assert (even[shut] == 0).all()
        assert (law[room.open] > 0).all()
        assert ((law[room.backwards] > 0) == (recipe is PAPER)).all()
        # Among levels that are alike but for their direction, one has ε times the probability of the other.
        own = np.take_along_axis(even, question.levels + layout.offsets, axis=1)[:, layout.owner]
        beside = recipe.epsilon / (1 + (1 - recipe.reference_selection) / recipe.reference_selection)
        assert (even[room.backwards] <= beside * own[room.backwards]).all()
        assert ((even[room.backwards] > 0) == (recipe is PAPER)).all()


@pytest.mark.parametrize("place", EVERY_PLACE)
def test_what_a_caller_closes_is_never_drawn(place):
    layout, rng = small_layout(), np.random.default_rng(3)
    limits = Limits(lock=("school",), permit={"job": ["clerk", "cook"]}, where=("age <= was.age + 20",))
    question = random_question(layout, 12, rng, limits=limits)
    fitted = counterer(layout, Recipe(selector="absent"), question, rng)
    for drawn in (proposals(fitted, question, 1, 200, place), even_draws(fitted, question, 200, place)):
        row = np.arange(12)[:, None, None]
        assert question.room.open[row, drawn + layout.offsets].all()


# Costs


def with_costs(**costs: dict[str, float | tuple[float, ...]]) -> Layout:
    schema = TINY.schema
    for name, cost in costs.items():
        schema = schema.edit(name, **cost)
    return Layout(schema, TINY.axes)


@pytest.mark.parametrize("place", EVERY_PLACE)
def test_where_all_changes_cost_the_same_laws_and_draws_are_what_they_were(place):
    dear = with_costs(f0={"cost": 3.0}, f1={"cost": 3.0}, f2={"cost": 3.0})
    free, fitted = tiny_question(), tiny_counterer()
    for question, method in (
        (tiny_question(layout=dear), replace(fitted, layout=dear)),
        (tiny_question(Limits(max_cost=3.0)), fitted),
    ):
        assert question.room.prices is not None
        for name in ("local", "selection", "law", "even_law"):
            assert (getattr(method, name)(question) == getattr(fitted, name)(free)).all()
        assert (proposals(method, question, 4, 100, place) == proposals(fitted, free, 4, 100, place)).all()


def test_costs_scale_p_by_1_minus_the_levels_reluctance_and_pi_by_1_minus_the_features():
    layout = with_costs(f0={"cost_up": 1.0, "level_costs": (0.0, 2.0, 5.0)}, f2={"cost": 4.0})
    question, fitted = tiny_question(layout=layout), replace(tiny_counterer(), layout=layout)
    free, plain = tiny_question(), tiny_counterer()
    by_level, by_feature = level_reluctance(layout, question), feature_reluctance(layout, question)
    scaled = plain.local(free) * (1 - by_level)
    expected = scaled / np.add.reduceat(scaled, TINY.offsets, axis=1)[:, TINY.owner]
    np.testing.assert_allclose(fitted.local(question), expected, rtol=1e-12)
    np.testing.assert_allclose(fitted.selection(question), plain.selection(free) * (1 - by_feature), rtol=1e-12)


@pytest.mark.parametrize("place", EVERY_PLACE)
def test_a_dearer_feature_is_changed_less_and_at_0_the_others_as_before(place):
    layout = with_costs(f1={"cost": 6.0})
    question, fitted = tiny_question(layout=layout), replace(tiny_counterer(), layout=layout)
    free = tiny_question()
    dear, plain = (
        (proposals(each, one, 4, 8000, place) != one.levels[:, None]).mean(axis=1)
        for each, one in ((fitted, question), (tiny_counterer(), free))
    )
    assert (dear[:, 1] < 0.75 * plain[:, 1]).all()
    if place == 0:
        others = np.delete(np.arange(TINY.width), [3, 4])
        assert (fitted.law(question)[:, others] == tiny_counterer().law(free)[:, others]).all()


@pytest.mark.parametrize("place", EVERY_PLACE)
def test_a_dearer_level_is_taken_less(place):
    layout = with_costs(f0={"level_costs": (0.0, 0.0, 8.0)}, f1={"cost": 4.0}, f2={"cost": 4.0})
    question, fitted = tiny_question(layout=layout), replace(tiny_counterer(), layout=layout)
    dear, plain = (
        (proposals(each, one, 4, 8000, place)[1:, :, 0] == 2).mean(axis=1)
        for each, one in ((fitted, question), (tiny_counterer(), tiny_question()))
    )
    assert (dear < 0.75 * plain).all()


def test_a_step_up_that_costs_makes_the_steps_down_more_likely():
    layout = layout_of((5, 2))
    dear = Layout(layout.schema.edit("f0", cost_up=2.0), layout.axes)
    cells = np.array([[2.0, 0.0]])
    local = [
        untrained(each, Recipe(selector="constant"), question_for(each, cells)).local(question_for(each, cells))[0, :5]
        for each in (layout, dear)
    ]
    np.testing.assert_allclose(local[0], 0.2)
    assert local[1][0] == local[1][1] > 0.2
    assert local[1][1] > local[1][3] > local[1][4] > 0
