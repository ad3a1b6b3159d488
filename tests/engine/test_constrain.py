"""The law of one feature under its constraints: equations 1 and 5 against the formulas written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.feature import Feature
from l2c.core.layout import Axis, Decode, Layout
from l2c.engine.constrain import local_distribution, log_weights
from l2c.engine.decode import decode_levels
from l2c.release.obey import obeys
from tables import SEEDS, layouts, random_cells, random_levels, small_layout

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


def never(feature: Feature, axis: Axis, own: int, level: int, decode: Decode) -> bool:
    """Return whether the level must not be proposed whatever ε is."""
    if level == own:
        return False
    if feature.moves == "never" or level == axis.known:
        return True
    value = getattr(axis, decode)[level]
    below = feature.low is not None and value < feature.low
    above = feature.high is not None and value > feature.high
    return feature.numeric and (below or above)


def slow_law(layout: Layout, logits: list[float], own: list[int], decode: Decode, epsilon: float) -> list[float]:
    """Return equation 5 for one row: ε^1(j ∈ C_i) × softmax, renormalised, without what is never proposed."""
    law: list[float] = []
    for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
        start = int(layout.offsets[i])
        plain = softmax(logits[start : start + axis.size])
        weighed = []
        for j, p in enumerate(plain):
            factor = epsilon if restricted(feature, axis, own[i], j) else 1.0
            weighed.append(0.0 if never(feature, axis, own[i], j, decode) else factor * p)
        law += [part / sum(weighed) for part in weighed]
    return law


@given(layouts(), SEEDS)
def test_equation_1_is_a_softmax_within_each_feature(layout, seed):
    logits = np.random.default_rng(seed).normal(0, 2, (4, layout.width)).astype(np.float32)
    p = local_distribution(layout, logits, np.zeros(logits.shape))
    for row, scores in zip(p, logits.tolist(), strict=True):
        parts = [softmax(scores[s : s + n]) for s, n in zip(layout.offsets, layout.sizes, strict=True)]
        np.testing.assert_allclose(row, np.concatenate(parts), rtol=1e-12)


@given(layouts(), SEEDS, DECODES, EPSILONS)
def test_equation_5_multiplies_the_restricted_levels_by_epsilon(layout, seed, decode, epsilon):
    rng = np.random.default_rng(seed)
    levels = layout.levels(random_cells(layout, 4, rng))
    logits = rng.normal(0, 2, (4, layout.width)).astype(np.float32)
    p = local_distribution(layout, logits, log_weights(layout, levels, decode=decode, epsilon=epsilon))
    expected = [
        slow_law(layout, scores, own, decode, epsilon)
        for scores, own in zip(logits.tolist(), levels.tolist(), strict=True)
    ]
    np.testing.assert_allclose(p, expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("epsilon", [math.exp(-10), 1e-3, 0.5])
def test_the_mask_lowers_restricted_levels_by_epsilon_exactly_beside_the_allowed_ones(epsilon):
    layout = small_layout()
    logits = np.random.default_rng(0).normal(0, 2, (1, layout.width))
    levels = np.array([[1, 0, 0, 0, 0]], dtype=np.int16)  # of age, which rises, level 0 is restricted
    weights = log_weights(layout, levels, decode="median", epsilon=epsilon)
    masked = local_distribution(layout, logits, weights)[0]
    plain = local_distribution(layout, logits, np.zeros(logits.shape))[0]
    assert masked[0] / masked[1] == pytest.approx(epsilon * plain[0] / plain[1], rel=1e-12)
    assert masked[2] / masked[1] == pytest.approx(plain[2] / plain[1], rel=1e-12)
    assert masked[4] / masked[3] == pytest.approx(epsilon * plain[4] / plain[3], rel=1e-12)  # debt falls


@given(layouts(), SEEDS, DECODES, EPSILONS)
def test_a_row_may_always_stay_as_it_is(layout, seed, decode, epsilon):
    rng = np.random.default_rng(seed)
    levels = random_levels(layout, (5,), rng)
    weights = log_weights(layout, levels, decode=decode, epsilon=epsilon)
    own = levels + layout.offsets
    assert (np.take_along_axis(weights, own, axis=1) == 0).all()
    p = local_distribution(layout, rng.normal(0, 3, weights.shape), weights)
    assert (np.take_along_axis(p, own, axis=1) > 0).all()
    np.testing.assert_allclose(np.add.reduceat(p, layout.offsets, axis=1), 1, rtol=1e-12)


@given(layouts(), SEEDS, DECODES, EPSILONS)
def test_missing_values_ranges_and_immutables_are_shut_whatever_epsilon_is(layout, seed, decode, epsilon):
    rng = np.random.default_rng(seed)
    levels = random_levels(layout, (5,), rng)
    weights = log_weights(layout, levels, decode=decode, epsilon=epsilon)
    p = local_distribution(layout, rng.normal(0, 3, weights.shape), weights)
    for row, own in enumerate(levels.tolist()):
        for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
            for j in range(axis.size):
                if never(feature, axis, own[i], j, decode):
                    assert p[row, layout.offsets[i] + j] == 0


@given(layouts(rules=False), SEEDS, DECODES)
def test_without_epsilon_a_level_has_mass_exactly_if_a_proposal_with_it_obeys_the_schema(layout, seed, decode):
    rng = np.random.default_rng(seed)
    cells = random_cells(layout, 3, rng)
    levels = layout.levels(cells)
    weights = log_weights(layout, levels, decode=decode, epsilon=0.0)
    p = local_distribution(layout, rng.normal(0, 3, weights.shape), weights)
    for place, feature in enumerate(layout.owner.tolist()):
        after = levels.copy()
        after[:, feature] = place - layout.offsets[feature]
        values = decode_levels(layout, after, cells, levels, decode)
        assert ((p[:, place] > 0) == obeys(layout, levels, after, values)).all()


def test_beside_a_missing_value_a_monotone_feature_has_nowhere_to_go():
    layout = small_layout()
    levels = np.array([[0, 2, 3, 0, 0]], dtype=np.int16)  # debt, which falls, is missing; so is the job
    weights = log_weights(layout, levels, decode="median", epsilon=0.0)[0]
    assert weights[3:6].tolist() == [-np.inf, -np.inf, 0.0]
    assert weights[6:10].tolist() == [0.0, 0.0, 0.0, 0.0]


def test_logits_of_any_size_give_a_law():
    layout = small_layout()
    logits = np.zeros((2, layout.width), dtype=np.float32)
    logits[0, 0], logits[1, 2] = 1e30, -1e30
    p = local_distribution(layout, logits, np.zeros(logits.shape))
    assert p[0, :3].tolist() == [1.0, 0.0, 0.0]
    np.testing.assert_allclose(p[1, :3], [0.5, 0.5, 0.0])
