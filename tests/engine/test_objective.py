"""The terms of the loss (equation 3) against the formulas written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from l2c.core.layout import Layout
from l2c.engine.constrain import local_distribution, log_weights
from l2c.engine.decode import decode_levels
from l2c.engine.objective import breadth_loss, counter_loss, mix_law, soft_values, sparsity_loss
from l2c.engine.relax import Segments
from tables import SEEDS, layouts, random_levels, random_question, small_layout

SHARES = st.floats(0.05, 1.0)


def random_terms(layout: Layout, seed: int, rows: int = 3, *, uneven: bool = False) -> tuple[Tensor, ...]:
    """Return p, π, z and how even the allowed places of random rows are: 1, and less for those that cost more."""
    rng = np.random.default_rng(seed)
    question = random_question(layout, rows, rng)
    weights, levels = log_weights(question.room, epsilon=0.0), question.levels
    local = local_distribution(layout, rng.normal(0, 1.5, weights.shape), weights, levels)
    selection = rng.uniform(0.05, 0.95, levels.shape)
    even = question.room.open * (rng.choice([1.0, 0.4, 0.75], weights.shape) if uneven else 1.0)
    arrays = (local, selection, layout.one_hot(levels).astype(np.float64), even)
    return tuple(torch.from_numpy(array) for array in arrays)


def slow_breadth(layout: Layout, p: list, pi: list, z: list, even: list, t: list) -> float:
    """Return Σ_i KL(P_i ‖ U_i) of one row."""
    total = 0.0
    for i, (start, size) in enumerate(zip(layout.offsets.tolist(), layout.sizes.tolist(), strict=True)):
        weight = sum(even[start : start + size])
        for j in range(start, start + size):
            if even[j]:
                P = (1 - pi[i]) * z[j] + pi[i] * p[j]
                U = (1 - t[i]) * z[j] + t[i] * even[j] / weight
                total += P * math.log(P / U) if P > 0 else 0.0
    return total


@given(SEEDS, st.integers(2, 4))
def test_the_counter_loss_is_the_cross_entropy_to_the_desired_class(seed, classes):
    rng = np.random.default_rng(seed)
    logits, desired = rng.normal(0, 3, (5, classes)), rng.integers(0, classes, 5)
    found = counter_loss(torch.from_numpy(logits), torch.from_numpy(desired))
    for row in range(5):
        mass = [math.exp(logit) for logit in logits[row]]
        assert found[row].item() == pytest.approx(-math.log(mass[desired[row]] / sum(mass)), rel=1e-9, abs=1e-12)


@given(SEEDS, st.lists(st.booleans(), min_size=4, max_size=4))
def test_the_sparsity_loss_adds_pi_over_the_mutable_features_only(seed, mutable):
    selection = np.random.default_rng(seed).random((3, 4))
    found = sparsity_loss(torch.from_numpy(selection), torch.tensor(mutable))
    expected = [sum(pi for pi, free in zip(row, mutable, strict=True) if free) for row in selection.tolist()]
    np.testing.assert_allclose(found, expected)


@given(layouts(), SEEDS, SHARES, st.booleans())
def test_the_breadth_loss_is_the_kl_divergence_of_the_proposals_law_from_the_even_one(layout, seed, t, uneven):
    local, selection, own, even = random_terms(layout, seed, uneven=uneven)
    reference = torch.full_like(selection, t) * (torch.linspace(0.4, 1.0, len(layout.axes)) if uneven else 1.0)
    found = breadth_loss(local, selection, own, even, reference, Segments.of(layout))
    terms = (local, selection, own, even, reference)
    expected = [slow_breadth(layout, *(term[row].tolist() for term in terms)) for row in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert (found > -1e-6).all()


@given(layouts(), SEEDS, SHARES, st.booleans())
def test_the_breadth_loss_is_zero_at_its_reference_and_grows_away_from_it(layout, seed, t, uneven):
    _, _, own, even = random_terms(layout, seed, uneven=uneven)
    segments = Segments.of(layout)
    local = even / segments.spread(segments.total(even))
    constant = torch.full((3, len(layout.axes)), t, dtype=torch.float64)
    np.testing.assert_allclose(breadth_loss(local, constant, own, even, constant, segments), 0, atol=1e-6)
    shy = breadth_loss(local, constant / 2, own, even, constant, segments)
    free = (segments.total((even > 0).double()) > 1).any(dim=1)
    assert (shy[free] > 1e-4).all()
    np.testing.assert_allclose(shy[~free], 0, atol=1e-6)


@given(layouts(), SEEDS)
def test_the_breadth_loss_has_finite_gradients_even_where_the_law_is_sure(layout, seed):
    local, selection, own, even = random_terms(layout, seed)
    selection[0], local[1] = 1.0, own[1]
    for tensor in (local, selection):
        tensor.requires_grad_()
    constant = torch.full(selection.shape, 0.7, dtype=torch.float64)
    breadth_loss(local, selection, own, even, constant, Segments.of(layout)).sum().backward()
    assert torch.isfinite(local.grad).all()
    assert torch.isfinite(selection.grad).all()


def test_the_law_of_a_feature_is_the_mixture():
    law = mix_law(torch.tensor([1.0, 0.0]), torch.tensor([0.2, 0.8]), torch.tensor([0.25, 0.25]))
    np.testing.assert_allclose(law, [0.75 + 0.25 * 0.2, 0.25 * 0.8])


@given(layouts(), SEEDS)
def test_equation_4_is_the_mean_of_a_features_values_under_the_relaxed_row(layout, seed):
    rng = np.random.default_rng(seed)
    mixed, values = rng.random((3, layout.width)), rng.normal(size=(3, layout.width))
    found = soft_values(torch.from_numpy(mixed), torch.from_numpy(values), Segments.of(layout))
    for row in range(3):
        for i, (start, size) in enumerate(zip(layout.offsets, layout.sizes, strict=True)):
            expected = sum(mixed[row, j] * values[row, j] for j in range(start, start + size))
            assert found[row, i].item() == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(layouts(), SEEDS)
def test_on_hard_rows_equation_4_gives_the_values_that_are_released(layout, seed):
    """Training and release agree about the value of a proposal: own where unchanged, the bin's elsewhere."""
    rng = np.random.default_rng(seed)
    question, after = random_question(layout, 3, rng), random_levels(layout, (3,), rng)
    places = np.nan_to_num(question.room.values)
    hard = torch.from_numpy(layout.one_hot(after).astype(np.float64))
    found = soft_values(hard, torch.from_numpy(places), Segments.of(layout))
    released = decode_levels(layout, after, question.room.values, np.arange(3))
    np.testing.assert_allclose(found, np.nan_to_num(released), rtol=1e-12)


def test_a_feature_that_cannot_change_adds_nothing_to_the_breadth_loss():
    layout = small_layout()
    local, selection, own, even = random_terms(layout, 0)
    segments, constant = Segments.of(layout), torch.full_like(selection, 0.7)
    before = breadth_loss(local, selection, own, even, constant, segments)
    selection[:, 4] = 0.9
    np.testing.assert_allclose(breadth_loss(local, selection, own, even, constant, segments), before)
