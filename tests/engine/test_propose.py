"""Candidates for batches of rows: the same for a row whatever the batch, and within the schema."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.proposing import (
    PLACES,
    RECIPES,
    TIED,
    TINY,
    WORLDS,
    counterer,
    distance,
    exact_law,
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
from l2c.core.streams import Streams
from l2c.engine.constrain import local_distribution, log_weights
from l2c.engine.decode import decode_levels
from l2c.engine.networks import Dense, forward
from l2c.engine.propose import drawn_at_all, drawn_at_all_at_once
from l2c.engine.recipe import Recipe
from l2c.engine.sample import mixed_law
from laws import log_likelihood
from oracles import slow_obeys
from tables import SEEDS, question_for, random_question, small_layout


@given(WORLDS, RECIPES, SEEDS, PLACES)
def test_a_rows_law_and_draws_do_not_depend_on_the_batch_or_its_order(layout, recipe, seed, place):
    rng = np.random.default_rng(seed)
    question = two_ways(random_question(layout, 7, rng, limits=random_limits(layout, 7, rng)), rng)
    fitted = counterer(layout, recipe, question, rng)
    law, even = fitted.law(question), fitted.even_law(question)
    drawn = proposals(fitted, question, 3, 6, place)
    order = rng.permutation(7)
    for rows in (order, order[:3], order[:1]):
        assert (fitted.law(question.take(rows)) == law[rows]).all()
        assert (fitted.even_law(question.take(rows)) == even[rows]).all()
        assert (proposals(fitted, question.take(rows), 3, 6, place) == drawn[rows]).all()


@given(WORLDS, RECIPES, SEEDS, PLACES)
def test_a_rows_draws_do_not_depend_on_the_limits_of_the_others(layout, recipe, seed, place):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 6, rng)
    limits = [(limits, rows & (np.arange(6) < 3)) for limits, rows in random_limits(layout, 6, rng)]
    limited = question_for(layout, question.cells, limits=limits)
    fitted = counterer(layout, recipe, question, rng)
    free, mixed = (proposals(fitted, each, 3, 8, place) for each in (question, limited))
    assert (mixed[3:] == free[3:]).all()
    for row in range(3):
        alone = question_for(
            layout, question.cells[[row]], limits=[(limit, rows[[row]]) for limit, rows in limits if rows[row]]
        )
        assert (proposals(fitted, alone, 3, 8, place)[0] == mixed[row]).all()


@given(WORLDS, RECIPES, SEEDS, PLACES, st.data())
def test_a_draw_is_found_by_its_row_and_position(layout, recipe, seed, place, data):
    rng = np.random.default_rng(seed)
    question = two_ways(random_question(layout, 6, rng, limits=random_limits(layout, 6, rng)), rng)
    fitted = counterer(layout, recipe, question, rng)
    drawn = proposals(fitted, question, 1, 12, place)
    rows = np.array(data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=6)))
    first = np.array(data.draw(st.lists(st.integers(0, 8), min_size=len(rows), max_size=len(rows))))
    later = fitted.proposer(question, Streams.for_rows(question.cells, 1), place).propose(rows, first, 4)
    for row, begin, window in zip(rows.tolist(), first.tolist(), later, strict=True):
        assert (window == drawn[row, begin : begin + 4]).all()


@given(
    TIED.filter(lambda layout: not torn(layout)),
    RECIPES.filter(lambda recipe: recipe.epsilon == 0),
    SEEDS,
    PLACES,
    st.booleans(),
)
def test_every_proposal_obeys_moves_ranges_missing_values_and_rules(layout, recipe, seed, place, given_law):
    rng = np.random.default_rng(seed)
    question = two_ways(random_question(layout, 5, rng, decode=recipe.decode), rng)
    fitted = counterer(layout, recipe, question, rng)
    if given_law:
        draws = fitted.proposer(question, Streams.for_rows(question.cells, 2), place)
        drawn = draws.propose_from(fitted.even_law(question), np.arange(5), np.zeros(5, dtype=np.int64), 20)
    else:
        drawn = proposals(fitted, question, 2, 20, place)
    row = np.repeat(np.arange(5), 20)
    values = decode_levels(layout, drawn.reshape(100, -1), question.room.values, row)
    for place_, one in enumerate(drawn.reshape(100, -1).tolist()):
        assert slow_obeys(layout, question.levels[row[place_]].tolist(), one, values[place_].tolist())


def test_the_law_is_its_stages_one_after_the_other():
    layout, rng = small_layout(), np.random.default_rng(0)
    question = random_question(layout, 5, rng)
    fitted = counterer(layout, Recipe(epsilon=0.1), question, rng)
    z = layout.one_hot(question.levels)
    weights = log_weights(question.room, epsilon=0.1)
    p = local_distribution(layout, forward(fitted.generator, z), weights, question.levels)
    pi = [[1 / (1 + math.exp(-logit)) for logit in row] for row in forward(fitted.selector, z).tolist()]
    expected = mixed_law(layout, p, np.array(pi), question.levels)
    np.testing.assert_allclose(fitted.law(question), expected, rtol=1e-12)


@pytest.mark.parametrize(("selector", "share"), [("constant", 0.4), ("absent", 1.0)])
def test_without_a_learned_selector_every_feature_is_selected_alike(selector, share):
    layout, rng = small_layout(), np.random.default_rng(1)
    question = random_question(layout, 5, rng)
    fitted = counterer(layout, Recipe(selector=selector, selection=0.4), question, rng)
    weights, z = log_weights(question.room, epsilon=0.0), layout.one_hot(question.levels)
    p = local_distribution(layout, forward(fitted.generator, z), weights, question.levels)
    expected = mixed_law(layout, p, np.full(question.levels.shape, share), question.levels)
    np.testing.assert_allclose(fitted.law(question), expected, rtol=1e-12)


def test_without_a_generator_the_law_is_uniform_over_the_allowed_levels():
    layout, rng = small_layout(), np.random.default_rng(1)
    question = random_question(layout, 5, rng)
    law = untrained(layout, Recipe(selector="absent"), question).law(question)
    weights = log_weights(question.room, epsilon=0.0)
    for row in range(5):
        for start, size in zip(layout.offsets, layout.sizes, strict=True):
            allowed = [weight == 0 for weight in weights[row, start : start + size]]
            expected = [each / sum(allowed) for each in allowed]
            np.testing.assert_allclose(law[row, start : start + size], expected)


@pytest.mark.parametrize("decode", ["median", "midpoint"])
@pytest.mark.parametrize(("high", "mass"), [(70.0, True), (60.0, True), (46.0, True), (45.0, False)])
def test_a_bin_that_the_range_reaches_is_proposed_with_a_value_within_the_range(decode, high, mass):
    layout = small_layout()  # of age the last bin is (45, 80], with median 53.75 and midpoint 62.5
    narrow = Layout(layout.schema.edit("age", low=20.0, high=high), layout.axes)
    question = question_for(narrow, np.array([[21.0, 50.0, 0.0, 0.0, 0.0]]), decode=decode)
    law = untrained(narrow, Recipe(decode=decode, selector="absent"), question).law(question)
    assert (law[0, 2] > 0) == mass
    if mass:
        assert question.room.values[0, 2] == min({"median": 53.75, "midpoint": 62.5}[decode], high)


def frequencies(layout: Layout, drawn: np.ndarray) -> np.ndarray:
    """Return how often each place of the flat axis was drawn, for each row."""
    counts = np.zeros((len(drawn), layout.width))
    for row, draws in enumerate(drawn):
        np.add.at(counts[row], (draws + layout.offsets).ravel(), 1 / len(draws))
    return counts


def test_proposals_have_the_frequencies_of_the_law():
    layout, rng = small_layout(), np.random.default_rng(5)
    question = random_question(layout, 3, rng)
    fitted = counterer(layout, Recipe(), question, rng)
    drawn = proposals(fitted, question, 8, 20_000)
    np.testing.assert_allclose(frequencies(layout, drawn), fitted.law(question), atol=0.015)


def test_proposals_from_a_given_law_have_its_frequencies():
    layout, rng = small_layout(), np.random.default_rng(5)
    question = random_question(layout, 3, rng)
    fitted = counterer(layout, Recipe(), question, rng)
    draws = fitted.proposer(question, Streams.for_rows(question.cells, 8), 0.5)
    rows = np.array([2, 0])
    even = draws.even_law(rows)
    assert np.abs(fitted.law(question)[rows] - even).max() > 0.3
    drawn = draws.propose_from(even, rows, np.array([0, 7]), 20_000)
    np.testing.assert_allclose(frequencies(layout, drawn), even, atol=0.015)


@given(WORLDS, RECIPES, SEEDS, PLACES)
def test_a_draw_from_a_given_law_is_found_by_its_row_and_position(layout, recipe, seed, place):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 6, rng, limits=random_limits(layout, 6, rng))
    draws = counterer(layout, recipe, question, rng).proposer(question, Streams.for_rows(question.cells, 1), place)
    rows, first = np.array([4, 1]), np.array([3, 0])
    law = draws.even_law(np.arange(6))
    drawn = draws.propose_from(law, np.arange(6), np.zeros(6, dtype=np.int64), 10)
    later = draws.propose_from(law[rows], rows, first, 5)
    assert (later[0] == drawn[4, 3:8]).all()
    assert (later[1] == drawn[1, :5]).all()


def test_the_even_law_is_uniform_over_the_allowed_levels_at_the_reference_selection():
    layout, rng = small_layout(), np.random.default_rng(4)
    question = random_question(layout, 4, rng)
    fitted = counterer(layout, Recipe(reference_selection=0.6), question, rng)
    even = fitted.even_law(question)
    weights = log_weights(question.room, epsilon=0.0)
    for row in range(4):
        for i, (start, size) in enumerate(zip(layout.offsets, layout.sizes, strict=True)):
            allowed = [weight == 0 for weight in weights[row, start : start + size]]
            expected = [
                0.6 * free / sum(allowed) + 0.4 * (j == question.levels[row, i]) for j, free in enumerate(allowed)
            ]
            np.testing.assert_allclose(even[row, start : start + size], expected)
    some = np.array([3, 1])
    draws = fitted.proposer(question, Streams.for_rows(question.cells, 0))
    assert (draws.even_law(some) == even[some]).all()


# Above 0 of the dial


@pytest.mark.parametrize("place", [0.0, 0.25, 0.5, 1.0])
def test_proposals_have_the_frequencies_of_the_exact_law_of_their_class(place):
    question, fitted = tiny_question(), tiny_counterer()
    local, selection = fitted.local(question), fitted.selection(question)
    drawn = proposals(fitted, question, 4, 30_000, place)
    for row, desired in enumerate(question.desired):
        own = question.levels[row].tolist()
        expected = exact_law(fitted.laws[desired], place, local[row], selection[row], own)
        assert distance(drawn[row], expected) < 0.015


def test_the_exact_laws_of_two_classes_and_of_two_places_are_far_enough_apart_to_be_told():
    question, fitted = tiny_question(), tiny_counterer()
    local, selection, own = fitted.local(question)[1], fitted.selection(question)[1], [0, 1, 1]
    one, other, middle, flat = (
        exact_law(fitted.laws[index], exponent, local, selection, own)
        for index, exponent in ((0, 1.0), (1, 1.0), (1, 0.5), (1, 0.0))
    )
    for left, right in ((one, other), (other, middle), (middle, flat)):
        assert sum(abs(left[levels] - right[levels]) for levels in left) / 2 > 0.03


def test_at_0_the_features_are_independent_and_each_follows_its_own_law():
    question, fitted = tiny_question(), tiny_counterer()
    law, drawn = fitted.law(question), proposals(fitted, question, 4, 30_000)
    for row in range(len(law)):
        assert distance(drawn[row], product_law(law[row])) < 0.015


def test_a_turned_dial_makes_proposals_likelier_among_the_desired_class():
    question, fitted = tiny_question(), tiny_counterer(Recipe(selector="constant", selection=0.7))
    means = [
        np.mean([
            log_likelihood(fitted.laws[desired], draws).mean()
            for desired, draws in zip(question.desired, proposals(fitted, question, 4, 3000, place), strict=True)
        ])
        for place in (0.0, 0.5, 1.0)
    ]  # fmt: skip
    assert means[0] < means[1] - 0.05
    assert means[1] < means[2] - 0.05


def test_unlikely_asks_the_law_of_the_desired_class():
    fitted = tiny_counterer()
    levels = np.array(list(product(*(range(size) for size in TINY.sizes))), dtype=np.int16)
    desired = np.arange(len(levels)) % 2
    expected = [fitted.laws[index].unlikeliness(one[None])[0] for index, one in zip(desired, levels, strict=True)]
    assert fitted.unlikely(levels, desired).tolist() == expected
    assert (fitted.unlikely(levels, 1 - desired) != expected).any()
    assert fitted.unlikely(levels[:0], desired[:0]).shape == (0,)


def test_a_feature_that_cannot_move_stays_at_every_place_even_if_its_class_is_never_so():
    layout, rng = small_layout(), np.random.default_rng(2)
    question = random_question(layout, 6, rng)
    fitted = counterer(layout, Recipe(selector="absent"), question, rng)
    drawn = proposals(fitted, question, 0, 200, 1.0)
    assert (drawn[:, :, 4] == question.levels[:, None, 4]).all()
    gone = question.levels[:, 1] == 2  # debt falls: from missing there is no way down
    assert gone.any()
    assert (drawn[gone, :, 1] == 2).all()


def test_another_seed_gives_other_draws():
    layout, rng = small_layout(), np.random.default_rng(6)
    question = random_question(layout, 4, rng)
    fitted = counterer(layout, Recipe(selector="absent"), question, rng)
    assert (proposals(fitted, question, 0, 50) != proposals(fitted, question, 1, 50)).any()


def test_a_selector_that_is_very_sure_gives_a_law_too():
    layout, rng = small_layout(), np.random.default_rng(7)
    question = random_question(layout, 4, rng)
    fitted = counterer(layout, Recipe(), question, rng)
    sure = Dense(np.zeros((5, fitted.encoder.width), np.float32), np.array([1e4, -1e4, 0, 1e4, -1e4], np.float32))
    law = replace(fitted, selector=(sure,)).law(question)
    np.testing.assert_allclose(np.add.reduceat(law, layout.offsets, axis=1), 1, rtol=1e-12)
    stays = np.take_along_axis(law, question.levels + layout.offsets, axis=1)
    assert (stays[:, [1, 4]] == 1).all()


@given(st.integers(0, 10_000))
def test_features_that_can_only_stay_are_found_in_turn_and_at_once_alike(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 5)
    offsets, own = np.cumsum(sizes) - sizes, rng.integers(0, sizes, (6, 5)).astype(np.int16)
    local = rng.random((6, int(sizes.sum()))) * (rng.random((6, int(sizes.sum()))) < 0.5)
    selection = rng.random((6, 5))
    chance = drawn_at_all(local, own, selection, offsets, sizes)
    assert chance.tolist() == drawn_at_all_at_once(local, own, selection, offsets).tolist()
    for row, i in product(range(6), range(5)):
        others = np.delete(local[row, offsets[i] : offsets[i] + sizes[i]], own[row, i])
        assert chance[row, i] == (selection[row, i] if (others > 0).any() else 0.0)
