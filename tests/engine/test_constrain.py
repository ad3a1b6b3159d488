"""The law of one feature under its constraints and costs: equations 1 and 5 against the formulas written out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.feature import Feature
from l2c.core.layout import Axis, Layout
from l2c.core.limits import Limits
from l2c.core.method import Question
from l2c.core.rules import Implies
from l2c.engine.constrain import (
    MOST_RELUCTANT,
    feature_reluctance,
    level_reluctance,
    local_distribution,
    log_weights,
)
from l2c.engine.decode import decode_levels
from oracles import slow_obeys
from tables import HOWS, SEEDS, layouts, question_for, random_question, small_layout

DECODES = st.sampled_from(["median", "midpoint"])
EPSILONS = st.sampled_from([0.0, math.exp(-10), 0.3])


def softmax(scores: list[float]) -> list[float]:
    """Return equation 1 for one feature."""
    mass = [math.exp(score) for score in scores]
    return [part / sum(mass) for part in mass]


def restricted(feature: Feature, axis: Axis, own: int, level: int) -> bool:
    """Return whether the level is in C_i; beside a missing value nothing is higher or lower."""
    if level == own or feature.moves in ("both", "never"):
        return False
    if own == axis.known:
        return True
    return level < own if feature.moves == "rises" else level > own


def never(feature: Feature, axis: Axis, own: int, level: int) -> bool:
    """Return whether the level must not be proposed whatever ε is: it holds no value that the range permits."""
    if level == own:
        return False
    if feature.moves == "never" or level == axis.known:
        return True
    if not feature.numeric:
        return False
    left, right = axis.bounds(level)  # the left end belongs to the bin below, but for the first bin of all
    below = feature.low is not None and right is not None and right < feature.low
    above = feature.high is not None and left is not None and level > 0 and left >= feature.high
    return below or above


def slow_law(layout: Layout, logits: list[float], own: list[int], epsilon: float) -> list[float]:
    """Return equation 5 for one row: ε^1(j ∈ C_i) × softmax, renormalised, without what is never proposed."""
    law: list[float] = []
    for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
        start = int(layout.offsets[i])
        plain = softmax(logits[start : start + axis.size])
        weighed = []
        for j, p in enumerate(plain):
            factor = epsilon if restricted(feature, axis, own[i], j) else 1.0
            weighed.append(0.0 if never(feature, axis, own[i], j) else factor * p)
        law += [part / sum(weighed) for part in weighed]
    return law


@given(layouts(), SEEDS)
def test_equation_1_is_a_softmax_within_each_feature(layout, seed):
    logits = np.random.default_rng(seed).normal(0, 2, (4, layout.width)).astype(np.float32)
    p = local_distribution(layout, logits, np.zeros(logits.shape), np.zeros((4, len(layout.axes)), dtype=np.int16))
    for row, scores in zip(p, logits.tolist(), strict=True):
        parts = [softmax(scores[s : s + n]) for s, n in zip(layout.offsets, layout.sizes, strict=True)]
        np.testing.assert_allclose(row, np.concatenate(parts), rtol=1e-12)


@given(layouts(rules=False), SEEDS, DECODES, EPSILONS)
def test_equation_5_multiplies_the_restricted_levels_by_epsilon(layout, seed, decode, epsilon):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 4, rng, decode=decode)
    logits = rng.normal(0, 2, (4, layout.width)).astype(np.float32)
    p = local_distribution(layout, logits, log_weights(question.room, epsilon=epsilon), question.levels)
    expected = [
        slow_law(layout, scores, own, epsilon)
        for scores, own in zip(logits.tolist(), question.levels.tolist(), strict=True)
    ]
    np.testing.assert_allclose(p, expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("epsilon", [math.exp(-10), 1e-3, 0.5])
def test_the_mask_lowers_restricted_levels_by_epsilon_exactly_beside_the_allowed_ones(epsilon):
    layout = small_layout()
    logits = np.random.default_rng(0).normal(0, 2, (1, layout.width))
    question = question_for(layout, np.array([[40.0, 50.0, 0.0, 0.0, 0.0]]))  # age, which rises, is at level 1
    masked = local_distribution(layout, logits, log_weights(question.room, epsilon=epsilon), question.levels)[0]
    plain = local_distribution(layout, logits, np.zeros(logits.shape), question.levels)[0]
    assert masked[0] / masked[1] == pytest.approx(epsilon * plain[0] / plain[1], rel=1e-12)
    assert masked[2] / masked[1] == pytest.approx(plain[2] / plain[1], rel=1e-12)
    assert masked[4] / masked[3] == pytest.approx(epsilon * plain[4] / plain[3], rel=1e-12)  # debt falls


@given(layouts(hows=HOWS), SEEDS, DECODES, EPSILONS)
def test_a_row_may_always_stay_as_it_is(layout, seed, decode, epsilon):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 5, rng, decode=decode)
    weights, own = log_weights(question.room, epsilon=epsilon), question.levels + layout.offsets
    assert (np.take_along_axis(weights, own, axis=1) == 0).all()
    p = local_distribution(layout, rng.normal(0, 3, weights.shape), weights, question.levels)
    assert (np.take_along_axis(p, own, axis=1) > 0).all()
    np.testing.assert_allclose(np.add.reduceat(p, layout.offsets, axis=1), 1, rtol=1e-12)


@given(layouts(hows=HOWS), SEEDS, DECODES, EPSILONS)
def test_missing_values_ranges_and_immutables_are_shut_whatever_epsilon_is(layout, seed, decode, epsilon):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 5, rng, decode=decode)
    weights = log_weights(question.room, epsilon=epsilon)
    p = local_distribution(layout, rng.normal(0, 3, weights.shape), weights, question.levels)
    for row, own in enumerate(question.levels.tolist()):
        for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
            for j in range(axis.size):
                if never(feature, axis, own[i], j):
                    assert p[row, layout.offsets[i] + j] == 0


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize(
    ("limits", "shut"),
    [
        (Limits(lock=("age",)), [0, 2]),
        (Limits(permit={"age": (31, 45)}), [0, 2]),
        (Limits(forbid={"age": [("*", (45, 80))]}), [2]),
        (Limits(where=("age >= 50",)), [0, 1]),
        (Limits(where=("age <= was.age",)), [2]),
    ],
)
def test_what_a_caller_rules_out_is_shut_whatever_epsilon_is(limits, shut, epsilon):
    layout = small_layout()
    question = question_for(layout, np.array([[40.0, 50.0, 0.0, 0.0, 0.0]]), limits=limits)
    weights = log_weights(question.room, epsilon=epsilon)[0]
    assert [place for place in (1, 2) if weights[place] == -np.inf] == [place for place in shut if place]
    assert (weights[0] == -np.inf) == (0 in shut or epsilon == 0)  # age rises


@given(layouts(rules=False), SEEDS, DECODES)
def test_without_epsilon_a_level_has_mass_exactly_if_a_proposal_with_it_obeys_the_schema(layout, seed, decode):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 3, rng, decode=decode)
    weights = log_weights(question.room, epsilon=0.0)
    p = local_distribution(layout, rng.normal(0, 3, weights.shape), weights, question.levels)
    for place, feature in enumerate(layout.owner.tolist()):
        after = question.levels.copy()
        after[:, feature] = place - layout.offsets[feature]
        values = decode_levels(layout, after, question.room.values, np.arange(3))
        for row in range(3):
            obeys = slow_obeys(layout, question.levels[row].tolist(), after[row].tolist(), values[row].tolist())
            assert (p[row, place] > 0) == obeys


@pytest.mark.parametrize("how", HOWS)
def test_what_no_rule_can_let_through_has_no_mass(how):
    layout = small_layout()
    ruled = Layout(replace(layout.schema, rules=(Implies("age", "school", how),)), layout.axes)
    for school, locked in ((2.0, ()), (1.0, ()), (1.0, ("age",))):
        limits = Limits(lock=locked)
        question = question_for(ruled, np.array([[40.0, 50.0, 0.0, school, 0.0]]), limits=limits)
        weights = log_weights(question.room, epsilon=0.0)[0]
        cannot_follow = how == "must_rise" and school == 2.0
        assert (weights[2] == -np.inf) == (cannot_follow or bool(locked))
        assert (weights[12] == -np.inf) == (how == "only_if" and bool(locked))  # nobody goes to school without ageing


def test_beside_a_missing_value_a_monotone_feature_has_nowhere_to_go():
    layout = small_layout()
    question = question_for(layout, np.array([[20.0, np.nan, np.nan, 0.0, 0.0]]))  # debt, which falls, and the job
    weights = log_weights(question.room, epsilon=0.0)[0]
    assert weights[3:6].tolist() == [-np.inf, -np.inf, 0.0]
    assert weights[6:10].tolist() == [0.0, 0.0, 0.0, 0.0]


def test_logits_of_any_size_give_a_law():
    layout = small_layout()
    logits = np.zeros((2, layout.width), dtype=np.float32)
    logits[0, 0], logits[1, 2] = 1e30, -1e30
    p = local_distribution(layout, logits, np.zeros(logits.shape), np.zeros((2, 5), dtype=np.int16))
    assert p[0, :3].tolist() == [1.0, 0.0, 0.0]
    np.testing.assert_allclose(p[1, :3], [0.5, 0.5, 0.0])


def test_a_feature_without_any_level_left_keeps_its_own_and_the_others_their_law():
    layout, rng = small_layout(), np.random.default_rng(0)
    impossible = Limits(where=("age >= 70", "age <= 20"))
    cells = np.array([[40.0, 50.0, 1.0, 0.0, 0.0], [75.0, 50.0, 1.0, 0.0, 0.0]])
    question = question_for(layout, cells, limits=[(impossible, np.array([True, False]))])
    assert not question.room.open[0, :3].any()
    logits = rng.normal(0, 2, (2, layout.width))
    p = local_distribution(layout, logits, log_weights(question.room, epsilon=0.0), question.levels)
    assert p[0, :3].tolist() == [0.0, 1.0, 0.0]
    free = question_for(layout, cells)
    plain = local_distribution(layout, logits, log_weights(free.room, epsilon=0.0), free.levels)
    assert (p[0, 3:] == plain[0, 3:]).all()
    assert (p[1] == plain[1]).all()


# Costs


def other_prices(layout: Layout, question: Question, row: int, i: int) -> dict[int, float]:
    """Return what each open level of a feature costs one row, its own level apart."""
    start, own = int(layout.offsets[i]), int(question.levels[row, i])
    return {
        j: float(question.room.prices[row, start + j])
        for j in range(int(layout.sizes[i]))
        if question.room.open[row, start + j] and j != own
    }


def slow_level_reluctance(layout: Layout, question: Question, row: int) -> list[float]:
    """Return φ_ij of one row: what a level costs beyond the cheapest other one, against the mean."""
    reluctance = [0.0] * layout.width
    for i in range(len(layout.axes)):
        prices = other_prices(layout, question, row, i)
        for j, price in prices.items():
            beyond, mean = price - min(prices.values()), sum(prices.values()) / len(prices)
            reluctance[int(layout.offsets[i]) + j] = beyond / (beyond + mean) if beyond else 0.0
    return reluctance


def slow_feature_reluctance(layout: Layout, question: Question, row: int) -> list[float]:
    """Return φ_i of one row: the mean price of a feature's moves beyond the least, over their sum, up to a cap."""
    means: dict[int, float] = {}
    for i in range(len(layout.axes)):
        prices = other_prices(layout, question, row, i)
        if prices:
            means[i] = sum(prices.values()) / len(prices)
    total = sum(means.values())
    return [
        min((means[i] - min(means.values())) / total, MOST_RELUCTANT) if i in means and total > 0 else 0.0
        for i in range(len(layout.axes))
    ]


@given(layouts(costs=True, hows=HOWS), SEEDS)
def test_reluctance_is_its_formula_level_by_level_and_feature_by_feature(layout, seed):
    # A purse makes prices known even where every change costs the same.
    question = random_question(layout, 4, np.random.default_rng(seed), limits=Limits(max_cost=1e6))
    by_level, by_feature = level_reluctance(layout, question), feature_reluctance(layout, question)
    for row in range(4):
        np.testing.assert_allclose(by_level[row], slow_level_reluctance(layout, question, row), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            by_feature[row], slow_feature_reluctance(layout, question, row), rtol=1e-9, atol=1e-12
        )


@given(layouts(costs=True, hows=HOWS), SEEDS)
def test_reluctance_is_a_share_and_leaves_the_cheapest_as_willing_as_before(layout, seed):
    question = random_question(layout, 4, np.random.default_rng(seed), limits=Limits(max_cost=1e6))
    by_level, by_feature = level_reluctance(layout, question), feature_reluctance(layout, question)
    for shares in (by_level, by_feature):
        assert (shares >= 0).all()
        assert (shares < 1).all()
    assert (by_feature == 0).any(axis=1).all()
    own = np.take_along_axis(by_level, question.levels + layout.offsets, axis=1)
    assert (own == 0).all()
    assert (by_level[~question.room.open] == 0).all()
    assert (by_feature.sum(axis=1) <= 1 + 1e-12).all()


@given(layouts(hows=HOWS), SEEDS, st.sampled_from([1.0, 0.0, 3.0, 0.25]))
def test_where_all_changes_cost_the_same_nothing_is_reluctant(layout, seed, cost):
    features = tuple(replace(feature, cost=cost) for feature in layout.schema.features)
    same = Layout(replace(layout.schema, features=features), layout.axes)
    question = random_question(same, 4, np.random.default_rng(seed), limits=Limits(max_cost=1e6))
    assert question.room.prices is not None
    assert (level_reluctance(same, question) == 0).all()
    assert (feature_reluctance(same, question) == 0).all()


def test_the_dearest_level_and_the_dearest_feature_are_the_most_reluctant():
    layout = small_layout()
    schema = layout.schema.edit("school", level_costs=(0.0, 1.0, 5.0)).edit("job", cost=4.0).edit("age", cost_up=0.1)
    question = question_for(Layout(schema, layout.axes), np.array([[20.0, 50.0, 0.0, 0.0, 0.0]]))
    age, _, school = np.split(level_reluctance(layout, question)[0], [3, 10])
    assert age[0] == age[1] == 0  # the own level, and the nearest above it
    assert 0 < age[2] < 1
    assert school[0] == school[1] == 0  # the own level, and the cheaper of the two others
    assert 0 < school[2] < 1
    by_feature = dict(zip(schema.names, feature_reluctance(layout, question)[0].tolist(), strict=True))
    assert by_feature["debt"] == by_feature["sex"] == 0  # neither can move
    assert min(by_feature["age"], by_feature["school"]) == 0
    # job: 4 for each move; school: 1 + (1 + 5) / 2 = 4; age: 1 + 0.1 · (13.75 + 33.75) / 2 = 3.375
    assert by_feature["job"] == pytest.approx((4 - 3.375) / (4 + 4 + 3.375))


def test_where_changes_are_free_nothing_is_divided_by_nothing_and_the_one_that_costs_stays_possible():
    layout = small_layout()
    schema = layout.schema
    for name in schema.names:
        schema = schema.edit(name, cost=0.0)
    question = question_for(Layout(schema, layout.axes), np.array([[20.0, 50.0, 0.0, 0.0, 0.0]]))
    assert (level_reluctance(layout, question) == 0).all()
    assert (feature_reluctance(layout, question) == 0).all()
    dear = question_for(Layout(schema.edit("job", cost=2.0), layout.axes), question.cells)
    assert feature_reluctance(layout, dear)[0].tolist() == [0.0, 0.0, MOST_RELUCTANT, 0.0, 0.0]
    assert 0 < MOST_RELUCTANT < 1
