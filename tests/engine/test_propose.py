"""Candidates for batches of rows: the same for a row whatever the batch, and within the schema."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.streams import Streams
from l2c.engine.constrain import local_distribution, log_weights
from l2c.engine.decode import decode_levels
from l2c.engine.encode import Encoder
from l2c.engine.networks import Dense, Network, forward
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe
from l2c.engine.sample import mixed_law
from l2c.release.obey import obeys
from tables import SEEDS, layouts, random_question, small_layout


def network(widths: list[int], rng: np.random.Generator) -> Network:
    return tuple(
        Dense(rng.normal(0, 1, (after, before)).astype(np.float32), rng.normal(0, 1, after).astype(np.float32))
        for before, after in pairwise(widths)
    )


def counterer(layout: Layout, recipe: Recipe, question: Question, rng: np.random.Generator) -> Counterer:
    """Return an L2C with random networks."""
    encoder = Encoder.fit(layout, recipe.inputs, question.cells)
    generator = network([encoder.width, 8, layout.width], rng)
    learned = recipe.selector == "learned"
    selector = network([encoder.width, 8, len(layout.axes)], rng) if learned else ()
    return Counterer(layout, recipe, encoder, generator, selector)


def proposals(fitted: Counterer, question: Question, seed: int, count: int) -> np.ndarray:
    rows = np.arange(len(question.cells))
    proposer = fitted.proposer(question, Streams.for_rows(question.cells, seed))
    return proposer.propose(rows, np.zeros(len(rows), dtype=np.int64), count)


RECIPES = st.builds(
    Recipe,
    selector=st.sampled_from(["learned", "constant", "absent"]),
    inputs=st.sampled_from(["levels", "values"]),
    widen_after=st.sampled_from([None, 0, 4, 1000]),
    epsilon=st.sampled_from([0.0, 0.1]),
)


@given(layouts(), RECIPES, SEEDS)
def test_a_rows_law_and_draws_do_not_depend_on_the_batch_or_its_order(layout, recipe, seed):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 7, rng)
    fitted = counterer(layout, recipe, question, rng)
    law, drawn = fitted.law(question), proposals(fitted, question, 3, 6)
    order = rng.permutation(7)
    for rows in (order, order[:3], order[:1]):
        assert (fitted.law(question.take(rows)) == law[rows]).all()
        assert (proposals(fitted, question.take(rows), 3, 6) == drawn[rows]).all()


@given(layouts(), RECIPES, SEEDS, st.data())
def test_a_draw_is_found_by_its_row_and_position(layout, recipe, seed, data):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 6, rng)
    fitted = counterer(layout, recipe, question, rng)
    drawn = proposals(fitted, question, 1, 12)
    rows = np.array(data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=6)))
    first = np.array(data.draw(st.lists(st.integers(0, 8), min_size=len(rows), max_size=len(rows))))
    later = fitted.proposer(question, Streams.for_rows(question.cells, 1)).propose(rows, first, 4)
    for row, begin, window in zip(rows.tolist(), first.tolist(), later, strict=True):
        assert (window == drawn[row, begin : begin + 4]).all()


@given(layouts(rules=False), RECIPES.filter(lambda recipe: recipe.epsilon == 0), SEEDS)
def test_every_proposal_obeys_moves_ranges_and_missing_values(layout, recipe, seed):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 5, rng)
    drawn = proposals(counterer(layout, recipe, question, rng), question, 2, 20)
    own, cells = question.levels[:, None], question.cells[:, None]
    values = decode_levels(layout, drawn, cells, own, recipe.decode)
    assert obeys(layout, own, drawn, values).all()


def test_the_law_is_its_stages_one_after_the_other():
    layout, rng = small_layout(), np.random.default_rng(0)
    question = random_question(layout, 5, rng)
    fitted = counterer(layout, Recipe(epsilon=0.1), question, rng)
    z = layout.one_hot(question.levels)
    weights = log_weights(layout, question.levels, decode="median", epsilon=0.1)
    p = local_distribution(layout, forward(fitted.generator, z), weights)
    pi = [[1 / (1 + math.exp(-logit)) for logit in row] for row in forward(fitted.selector, z).tolist()]
    expected = mixed_law(layout, p, np.array(pi), question.levels)
    np.testing.assert_allclose(fitted.law(question), expected, rtol=1e-12)


@pytest.mark.parametrize(("selector", "share"), [("constant", 0.4), ("absent", 1.0)])
def test_without_a_learned_selector_every_feature_is_selected_alike(selector, share):
    layout, rng = small_layout(), np.random.default_rng(1)
    question = random_question(layout, 5, rng)
    fitted = counterer(layout, Recipe(selector=selector, selection=0.4), question, rng)
    weights = log_weights(layout, question.levels, decode="median", epsilon=0.0)
    p = local_distribution(layout, forward(fitted.generator, layout.one_hot(question.levels)), weights)
    expected = mixed_law(layout, p, np.full(question.levels.shape, share), question.levels)
    np.testing.assert_allclose(fitted.law(question), expected, rtol=1e-12)


def test_without_a_generator_the_law_is_uniform_over_the_allowed_levels():
    layout, rng = small_layout(), np.random.default_rng(1)
    question = random_question(layout, 5, rng)
    encoder = Encoder.fit(layout, "levels", question.cells)
    law = Counterer(layout, Recipe(selector="absent"), encoder, (), ()).law(question)
    weights = log_weights(layout, question.levels, decode="median", epsilon=0.0)
    for row in range(5):
        for start, size in zip(layout.offsets, layout.sizes, strict=True):
            allowed = [weight == 0 for weight in weights[row, start : start + size]]
            expected = [each / sum(allowed) for each in allowed]
            np.testing.assert_allclose(law[row, start : start + size], expected)


def test_the_range_is_checked_on_the_value_that_stands_for_the_bin():
    layout = small_layout()
    schema = layout.schema.edit("age", low=20.0, high=70.0)  # medians 21, 33.75, 53.75; midpoints 24, 37.5, 62.5
    narrow = schema.edit("age", low=20.0, high=60.0)
    question = Question(
        np.array([[21.0, 50.0, 0.0, 0.0, 0.0]]), np.zeros((1, 5), dtype=np.int16), np.zeros(1), np.ones(1)
    )
    for decode, described, mass in (("median", narrow, True), ("midpoint", narrow, False), ("midpoint", schema, True)):
        fitted_layout = Layout(described, layout.axes)
        encoder = Encoder.fit(fitted_layout, "levels", question.cells)
        law = Counterer(fitted_layout, Recipe(decode=decode, selector="absent"), encoder, (), ()).law(question)
        assert (law[0, 2] > 0) == mass


def frequencies(layout: Layout, drawn: np.ndarray) -> np.ndarray:
    """Return how often each place of the flat axis was drawn, for each row."""
    counts = np.zeros((len(drawn), layout.width))
    for row, draws in enumerate(drawn):
        np.add.at(counts[row], (draws + layout.offsets).ravel(), 1 / len(draws))
    return counts


def test_proposals_have_the_frequencies_of_the_law_and_from_widen_after_on_of_the_wide_one():
    layout, rng = small_layout(), np.random.default_rng(5)
    question = random_question(layout, 3, rng)
    fitted = counterer(layout, Recipe(widen_after=20_000), question, rng)
    law, wide_law = fitted.law(question), fitted.wide_law(question)
    assert np.abs(law - wide_law).max() > 0.3
    drawn = proposals(fitted, question, 8, 40_000)
    np.testing.assert_allclose(frequencies(layout, drawn[:, :20_000]), law, atol=0.015)
    np.testing.assert_allclose(frequencies(layout, drawn[:, 20_000:]), wide_law, atol=0.015)


def test_the_law_widens_at_its_position_exactly_and_without_one_never():
    layout, rng = small_layout(), np.random.default_rng(5)
    question = random_question(layout, 3, rng)
    fitted = counterer(layout, Recipe(widen_after=50), question, rng)
    drawn = proposals(fitted, question, 8, 100)
    never, always = (
        proposals(replace(fitted, recipe=Recipe(widen_after=after)), question, 8, 100) for after in (None, 0)
    )
    assert (drawn[:, :50] == never[:, :50]).all()
    assert (drawn[:, 50:] == always[:, 50:]).all()
    assert (never != always).any(axis=(0, 2)).mean() > 0.5


def test_the_wide_law_is_uniform_over_the_allowed_levels_at_the_reference_selection():
    layout, rng = small_layout(), np.random.default_rng(4)
    question = random_question(layout, 4, rng)
    wide = counterer(layout, Recipe(reference_selection=0.6), question, rng).wide_law(question)
    weights = log_weights(layout, question.levels, decode="median", epsilon=0.0)
    for row in range(4):
        for i, (start, size) in enumerate(zip(layout.offsets, layout.sizes, strict=True)):
            allowed = [weight == 0 for weight in weights[row, start : start + size]]
            expected = [
                0.6 * free / sum(allowed) + 0.4 * (j == question.levels[row, i]) for j, free in enumerate(allowed)
            ]
            np.testing.assert_allclose(wide[row, start : start + size], expected)


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
    law = Counterer(layout, Recipe(), fitted.encoder, fitted.generator, (sure,)).law(question)
    np.testing.assert_allclose(np.add.reduceat(law, layout.offsets, axis=1), 1, rtol=1e-12)
    stays = np.take_along_axis(law, question.levels + layout.offsets, axis=1)
    assert (stays[:, [1, 4]] == 1).all()
