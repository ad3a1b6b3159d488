"""The Concrete relaxations of section 3.4, against the paper's formulas written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from l2c.core.layout import Layout
from l2c.engine.constrain import log_weights
from l2c.engine.relax import Segments, bin_concrete, cat_concrete, gumbel, mix
from tables import SEEDS, layouts, random_cells, small_layout

TEMPERATURES = st.sampled_from([0.2, 0.5, 1.0, 3.0])


def parts_of(layout: Layout) -> list[slice]:
    return [slice(start, start + size) for start, size in zip(layout.offsets, layout.sizes, strict=True)]


def random_log_p(layout: Layout, rows: int, seed: int) -> Tensor:
    """Return log p of random rows, −∞ where the schema forbids a level."""
    rng = np.random.default_rng(seed)
    levels = layout.levels(random_cells(layout, rows, rng))
    weights = log_weights(layout, levels, decode="median", epsilon=0.0)
    scores = torch.from_numpy((rng.normal(0, 1.5, weights.shape) + weights).astype(np.float32))
    return Segments.of(layout).log_softmax(scores)


@given(layouts(), SEEDS)
def test_sums_and_spreads_go_feature_by_feature(layout, seed):
    segments = Segments.of(layout)
    flat = torch.from_numpy(np.random.default_rng(seed).normal(size=(3, layout.width)))
    total = segments.total(flat)
    assert total.shape == (3, len(layout.axes))
    for i, part in enumerate(parts_of(layout)):
        for row in range(3):
            assert total[row, i].item() == pytest.approx(sum(flat[row, part].tolist()))
            assert segments.spread(total)[row, part].tolist() == [total[row, i].item()] * int(layout.sizes[i])


@given(layouts(), SEEDS, st.sampled_from([0.0, 100.0, -300.0]))
def test_the_log_softmax_within_a_feature_is_the_formula_at_any_height(layout, seed, height):
    scores = torch.from_numpy(np.random.default_rng(seed).normal(0, 2, (3, layout.width)))
    found = Segments.of(layout).log_softmax(scores + height)
    for part in parts_of(layout):
        for row in range(3):
            mass = [math.exp(score) for score in scores[row, part].tolist()]
            expected = [math.log(each / sum(mass)) for each in mass]
            np.testing.assert_allclose(found[row, part], expected, rtol=1e-7, atol=1e-9)


def test_a_forbidden_score_stays_forbidden_and_the_others_share_its_mass():
    segments = Segments(torch.tensor([0, 0, 0]), 1)
    found = segments.log_softmax(torch.tensor([[0.0, -torch.inf, 0.0]])).exp()
    assert found.tolist() == [[0.5, 0.0, 0.5]]


@given(layouts(), SEEDS, TEMPERATURES)
def test_cat_concrete_is_the_papers_formula(layout, seed, tau):
    log_p = random_log_p(layout, 3, seed)
    noise = gumbel(tuple(log_p.shape), torch.Generator().manual_seed(seed))
    drawn = cat_concrete(log_p, noise, tau, Segments.of(layout))
    for part in parts_of(layout):
        for row in range(3):
            p, G = log_p[row, part].double().exp().tolist(), noise[row, part].tolist()
            # exp((log p + G) / τ) = p^(1/τ) · exp(G / τ), which needs no log of 0
            mass = [pj ** (1 / tau) * math.exp(Gj / tau) for pj, Gj in zip(p, G, strict=True)]
            np.testing.assert_allclose(drawn[row, part], [m / sum(mass) for m in mass], rtol=2e-3, atol=1e-6)


@given(SEEDS, TEMPERATURES)
def test_bin_concrete_is_the_papers_formula(seed, tau):
    logit = torch.from_numpy(np.random.default_rng(seed).normal(0, 2, (3, 4)))
    noise = gumbel((2, 3, 4), torch.Generator().manual_seed(seed)).double()
    drawn = bin_concrete(logit, noise, tau)
    for row in range(3):
        for i in range(4):
            pi = 1 / (1 + math.exp(-logit[row, i].item()))
            G0, G1 = noise[0, row, i].item(), noise[1, row, i].item()
            chosen = math.exp((math.log(pi) + G1) / tau)
            left = math.exp((math.log(1 - pi) + G0) / tau)
            assert drawn[row, i].item() == pytest.approx(chosen / (left + chosen), rel=1e-6, abs=1e-12)


@given(layouts(), SEEDS)
def test_a_relaxed_row_is_the_mixture_feature_by_feature(layout, seed):
    rng = np.random.default_rng(seed)
    own, drawn = (torch.from_numpy(rng.random((3, layout.width))) for _ in range(2))
    selected = torch.from_numpy(rng.random((3, len(layout.axes))))
    mixed = mix(own, drawn, selected, Segments.of(layout))
    for i, part in enumerate(parts_of(layout)):
        for row in range(3):
            s = selected[row, i].item()
            pairs = zip(own[row, part].tolist(), drawn[row, part].tolist(), strict=True)
            np.testing.assert_allclose(mixed[row, part], [(1 - s) * z + s * d for z, d in pairs])


# The temperature. In the published code it cancels out of the relaxed Bernoulli; the checks below must see that.

Relaxation = Callable[[float], Tensor]


def entropy(shares: Tensor) -> float:
    """Return the mean entropy of relaxed two-way choices."""
    both = torch.stack([shares, 1 - shares]).clamp(1e-12, 1)
    return float(-(both * both.log()).sum(dim=0).mean())


def check_that_temperature_acts(relaxed: Relaxation) -> None:
    hot_to_cold = [entropy(relaxed(tau)) for tau in (5.0, 1.0, 0.5, 0.2, 0.05)]
    assert all(later < earlier - 0.01 for earlier, later in pairwise(hot_to_cold))


def coins(count: int = 2000) -> tuple[Tensor, Tensor]:
    noise = gumbel((2, count, 3), torch.Generator().manual_seed(4))
    return torch.tensor([[-1.5, 0.0, 2.0]]).repeat(count, 1), noise


def test_relaxed_coins_are_less_decided_the_hotter_they_are():
    logit, noise = coins()
    check_that_temperature_acts(lambda tau: bin_concrete(logit, noise, tau))


def test_the_check_would_see_a_temperature_that_cancels():
    logit, noise = coins()

    def cancels(tau: float) -> Tensor:
        chosen = torch.nn.functional.logsigmoid(logit) + noise[1]
        left = torch.nn.functional.logsigmoid(-logit) + noise[0]
        return torch.sigmoid((chosen / tau - left / tau) * tau)

    with pytest.raises(AssertionError):
        check_that_temperature_acts(cancels)


def test_relaxed_one_hot_draws_are_less_decided_the_hotter_they_are():
    layout, log_p = small_layout(), random_log_p(small_layout(), 500, 1)
    noise = gumbel(tuple(log_p.shape), torch.Generator().manual_seed(4))
    segments = Segments.of(layout)
    check_that_temperature_acts(lambda tau: cat_concrete(log_p, noise, tau, segments))


def test_a_cold_draw_is_the_hard_draw():
    layout, log_p = small_layout(), random_log_p(small_layout(), 200, 2)
    noise = gumbel(tuple(log_p.shape), torch.Generator().manual_seed(5))
    cold = cat_concrete(log_p, noise, 1e-4, Segments.of(layout))
    for part in parts_of(layout):
        best = (log_p + noise)[:, part].argmax(dim=1)
        hard = torch.nn.functional.one_hot(best, part.stop - part.start).float()
        assert ((cold[:, part] - hard).abs() < 1e-3).float().mean() > 0.99
    logit, coin = coins(200)
    assert (bin_concrete(logit, coin, 1e-6).round(decimals=3) == (logit + coin[1] > coin[0]).float()).all()


def test_a_hot_draw_knows_nothing_but_what_is_allowed():
    segments = Segments(torch.tensor([0, 0, 0, 1, 1]), 2)
    log_p = segments.log_softmax(torch.tensor([[3.0, -torch.inf, -3.0, 1.0, 0.0]]))
    noise = gumbel((1, 5), torch.Generator().manual_seed(0))
    np.testing.assert_allclose(cat_concrete(log_p, noise, 1e6, segments), [[0.5, 0, 0.5, 0.5, 0.5]], atol=1e-4)
    logit, coin = coins(50)
    np.testing.assert_allclose(bin_concrete(logit, coin, 1e6), 0.5, atol=1e-4)


def test_frequencies_of_cold_draws_are_the_probabilities():
    segments = Segments(torch.tensor([0, 0, 0]), 1)
    p = torch.tensor([0.6, 0.3, 0.1])
    noise = gumbel((20_000, 3), torch.Generator().manual_seed(6))
    cold = cat_concrete(p.log().expand(20_000, 3), noise, 1e-3, segments)
    np.testing.assert_allclose(cold.mean(dim=0), p, atol=0.015)
    logit, coin = coins(20_000)
    np.testing.assert_allclose(bin_concrete(logit, coin, 1e-3).mean(dim=0), torch.sigmoid(logit[0]), atol=0.015)


@given(layouts(), SEEDS, TEMPERATURES)
def test_gradients_are_finite_where_levels_are_forbidden_and_nothing_flows_into_those(layout, seed, tau):
    rng = np.random.default_rng(seed)
    levels = layout.levels(random_cells(layout, 3, rng))
    weights = torch.from_numpy(log_weights(layout, levels, decode="median", epsilon=0.0).astype(np.float32))
    scores = torch.from_numpy(rng.normal(size=weights.shape).astype(np.float32)).requires_grad_()
    segments = Segments.of(layout)
    noise = gumbel(tuple(weights.shape), torch.Generator().manual_seed(seed))
    drawn = cat_concrete(segments.log_softmax(scores + weights), noise, tau, segments)
    assert (drawn[weights == -torch.inf] == 0).all()
    (drawn * torch.from_numpy(rng.normal(size=weights.shape))).sum().backward()
    assert torch.isfinite(scores.grad).all()
    assert (scores.grad[weights == -torch.inf] == 0).all()


def test_the_generator_receives_a_gradient_that_agrees_with_differences():
    layout, segments = small_layout(), Segments.of(small_layout())
    rng = np.random.default_rng(3)
    noise = gumbel((2, layout.width), torch.Generator().manual_seed(3)).double()
    payoff = torch.from_numpy(rng.normal(size=(2, layout.width)))
    scores = torch.from_numpy(rng.normal(size=(2, layout.width))).requires_grad_()

    def gain(scores: Tensor) -> Tensor:
        return (cat_concrete(segments.log_softmax(scores), noise, 0.5, segments) * payoff).sum()

    gain(scores).backward()
    step = 1e-6
    for place in range(layout.width):
        nudge = torch.zeros_like(scores).detach()
        nudge[0, place] = step
        slope = (gain(scores.detach() + nudge) - gain(scores.detach() - nudge)) / (2 * step)
        assert scores.grad[0, place].item() == pytest.approx(slope.item(), abs=1e-6)
    assert scores.grad.abs().max() > 1e-3


def test_gumbel_noise_is_gumbel_and_finite():
    noise = gumbel((400_000,), torch.Generator().manual_seed(7))
    assert torch.isfinite(noise).all()
    assert noise.mean().item() == pytest.approx(0.5772, abs=0.01)
    assert noise.var().item() == pytest.approx(math.pi**2 / 6, abs=0.03)
    assert (noise <= 0).float().mean().item() == pytest.approx(math.exp(-1), abs=0.005)  # F(0) = exp(−exp(0))


def test_noise_comes_from_its_generator_alone():
    before = torch.get_rng_state()
    first = gumbel((5,), torch.Generator().manual_seed(1))
    assert (gumbel((5,), torch.Generator().manual_seed(1)) == first).all()
    assert (gumbel((5,), torch.Generator().manual_seed(2)) != first).any()
    assert (torch.get_rng_state() == before).all()
