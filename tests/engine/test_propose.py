"""Candidates for batches of rows: the same for a row whatever the batch, and within the schema."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.streams import Streams
from l2c.engine.constrain import local_distribution, log_weights
from l2c.engine.decode import decode_levels
from l2c.engine.dial import Dial
from l2c.engine.encode import Encoder
from l2c.engine.networks import Dense, Network, forward
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe
from l2c.engine.reference import ReferenceLaw, fit_reference
from l2c.engine.sample import mixed_law
from l2c.release.obey import obeys
from laws import layout_of
from tables import SEEDS, layouts, random_levels, random_question, small_layout


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
    return Counterer(layout, recipe, encoder, generator, selector, random_laws(layout, rng), 1.75, Dial())


def random_laws(layout: Layout, rng: np.random.Generator) -> tuple[ReferenceLaw, ReferenceLaw]:
    """Return the laws of two classes, each of rows that are strange in their own way."""
    odd, even = (np.minimum(random_levels(layout, (40,), rng), rng.integers(0, layout.sizes)) for _ in range(2))
    return fit_reference(layout, odd.astype(np.int16)), fit_reference(layout, even.astype(np.int16))


def untrained(layout: Layout, recipe: Recipe, question: Question) -> Counterer:
    """Return an L2C without networks."""
    encoder = Encoder.fit(layout, "levels", question.cells)
    laws = random_laws(layout, np.random.default_rng(0))
    return Counterer(layout, recipe, encoder, (), (), laws, 1.75, Dial())


def proposals(fitted: Counterer, question: Question, seed: int, count: int, place: float = 0.0) -> np.ndarray:
    rows = np.arange(len(question.cells))
    proposer = fitted.proposer(question, Streams.for_rows(question.cells, seed), place)
    return proposer.propose(rows, np.zeros(len(rows), dtype=np.int64), count)


RECIPES = st.builds(
    Recipe,
    selector=st.sampled_from(["learned", "constant", "absent"]),
    inputs=st.sampled_from(["levels", "values"]),
    epsilon=st.sampled_from([0.0, 0.1]),
)
PLACES = st.sampled_from([0.0, 0.2, 0.5, 1.0])


def two_ways(question: Question, rng: np.random.Generator) -> Question:
    """Return the question with rows that should be of class 0 among those that should be of class 1."""
    desired = rng.integers(0, 2, len(question.cells))
    return replace(question, current=1 - desired, desired=desired)


@given(layouts(), RECIPES, SEEDS, PLACES)
def test_a_rows_law_and_draws_do_not_depend_on_the_batch_or_its_order(layout, recipe, seed, place):
    rng = np.random.default_rng(seed)
    question = two_ways(random_question(layout, 7, rng), rng)
    fitted = counterer(layout, recipe, question, rng)
    law, drawn = fitted.law(question), proposals(fitted, question, 3, 6, place)
    order = rng.permutation(7)
    for rows in (order, order[:3], order[:1]):
        assert (fitted.law(question.take(rows)) == law[rows]).all()
        assert (proposals(fitted, question.take(rows), 3, 6, place) == drawn[rows]).all()


@given(layouts(), RECIPES, SEEDS, PLACES, st.data())
def test_a_draw_is_found_by_its_row_and_position(layout, recipe, seed, place, data):
    rng = np.random.default_rng(seed)
    question = two_ways(random_question(layout, 6, rng), rng)
    fitted = counterer(layout, recipe, question, rng)
    drawn = proposals(fitted, question, 1, 12, place)
    rows = np.array(data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=6)))
    first = np.array(data.draw(st.lists(st.integers(0, 8), min_size=len(rows), max_size=len(rows))))
    later = fitted.proposer(question, Streams.for_rows(question.cells, 1), place).propose(rows, first, 4)
    for row, begin, window in zip(rows.tolist(), first.tolist(), later, strict=True):
        assert (window == drawn[row, begin : begin + 4]).all()


@given(layouts(rules=False), RECIPES.filter(lambda recipe: recipe.epsilon == 0), SEEDS, PLACES)
def test_every_proposal_obeys_moves_ranges_and_missing_values(layout, recipe, seed, place):
    rng = np.random.default_rng(seed)
    question = two_ways(random_question(layout, 5, rng), rng)
    drawn = proposals(counterer(layout, recipe, question, rng), question, 2, 20, place)
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
    law = untrained(layout, Recipe(selector="absent"), question).law(question)
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
        law = untrained(fitted_layout, Recipe(decode=decode, selector="absent"), question).law(question)
        assert (law[0, 2] > 0) == mass


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


@given(layouts(), RECIPES, SEEDS, PLACES)
def test_a_draw_from_a_given_law_is_found_by_its_row_and_position(layout, recipe, seed, place):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 6, rng)
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
    weights = log_weights(layout, question.levels, decode="median", epsilon=0.0)
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


TINY = layout_of((3, 2, 2))


def exact_law(
    law: ReferenceLaw, exponent: float, local: np.ndarray, selection: np.ndarray, own: list[int]
) -> dict[tuple[int, ...], float]:
    """Return the probability of every proposal for one row: over what is selected, and how that then falls."""
    everything = list(product(*(range(size) for size in TINY.sizes)))
    total = dict.fromkeys(everything, 0.0)
    for selected in product((False, True), repeat=len(own)):
        chance = math.prod(p if s else 1 - p for s, p in zip(selected, selection, strict=True))
        mass = {}
        for levels in everything:
            if any(not s and level != mine for s, level, mine in zip(selected, levels, own, strict=True)):
                continue
            mass[levels] = 1.0
            for i, level in enumerate(levels):
                parent = int(law.parent[i])
                mass[levels] *= law.tables[i][levels[parent] if parent >= 0 else 0, level] ** exponent
                mass[levels] *= local[TINY.offsets[i] + level] if selected[i] else 1.0
        for levels, weight in mass.items():
            total[levels] += chance * weight / sum(mass.values())
    return total


def tiny_question() -> Question:
    levels = np.array([[2, 0, 1], [0, 1, 1], [0, 1, 1]], dtype=np.int16)
    return Question(levels.astype(np.float64), levels, np.array([0, 0, 1]), np.array([1, 1, 0]))


def tiny_counterer(recipe: Recipe = Recipe()) -> Counterer:  # noqa: B008
    """Return random networks beside two laws in which the features depend on each other in opposite ways."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 3, 300)
    second = np.where(rng.random(300) < 0.9, first > 0, first == 0).astype(int)
    third = np.where(rng.random(300) < 0.9, second, 1 - second)
    rows = np.stack([first, second, third], axis=1).astype(np.int16)
    turned = np.stack([first, 1 - second, third], axis=1).astype(np.int16)
    laws = (fit_reference(TINY, rows), fit_reference(TINY, turned))
    drawn = counterer(TINY, recipe, tiny_question(), rng)
    mild = [
        tuple(Dense(0.4 * each.weight, 0.4 * each.bias) for each in net) for net in (drawn.generator, drawn.selector)
    ]
    return replace(drawn, generator=mild[0], selector=mild[1], laws=laws)


def distance(drawn: np.ndarray, expected: dict[tuple[int, ...], float]) -> float:
    """Return the total variation between draws and a law over every combination."""
    seen = Counter(map(tuple, drawn.tolist()))
    assert set(seen) <= {levels for levels, p in expected.items() if p > 0}
    return sum(abs(seen[levels] / len(drawn) - p) for levels, p in expected.items()) / 2


@pytest.mark.parametrize(("place", "exponent"), [(0.0, 0.0), (0.25, 0.5), (0.5, 1.0), (1.0, 1.0)])
def test_proposals_have_the_frequencies_of_the_exact_law_of_their_class(place, exponent):
    question, fitted = tiny_question(), tiny_counterer()
    local, selection = fitted.local(question), fitted.selection(question)
    drawn = proposals(fitted, question, 4, 30_000, place)
    for row, desired in enumerate(question.desired):
        own = question.levels[row].tolist()
        expected = exact_law(fitted.laws[desired], exponent, local[row], selection[row], own)
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
        parts = np.split(law[row], TINY.offsets[1:])
        expected = {
            levels: math.prod(part[level] for part, level in zip(parts, levels, strict=True))
            for levels in product(*(range(size) for size in TINY.sizes))
        }
        assert distance(drawn[row], expected) < 0.015


def test_a_turned_dial_makes_proposals_likelier_among_the_desired_class():
    question, fitted = tiny_question(), tiny_counterer(Recipe(selector="constant", selection=0.7))
    means = [
        np.mean([
            fitted.laws[desired].log_likelihood(draws).mean()
            for desired, draws in zip(question.desired, proposals(fitted, question, 4, 3000, place), strict=True)
        ])
        for place in (0.0, 0.25, 0.5)
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
