"""The Concrete relaxations of section 3.4, against the paper's formulas written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.rules import Implies, bonds, meets_rule
from l2c.engine.constrain import log_weights
from l2c.engine.relax import Segments, bin_concrete, bind_softly, cat_concrete, gumbel, mix
from laws import layout_of, slow_bound
from tables import HOWS, SEEDS, layouts, question_for, random_question, small_layout

TEMPERATURES = st.sampled_from([0.2, 0.5, 1.0, 3.0])


def parts_of(layout: Layout) -> list[slice]:
    return [slice(start, start + size) for start, size in zip(layout.offsets, layout.sizes, strict=True)]


def random_log_p(layout: Layout, rows: int, seed: int) -> Tensor:
    """Return log p of random rows, −∞ where the schema forbids a level."""
    rng = np.random.default_rng(seed)
    weights = log_weights(random_question(layout, rows, rng).room, epsilon=0.0)
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
    room = random_question(layout, 3, rng).room
    weights = torch.from_numpy(log_weights(room, epsilon=0.0).astype(np.float32))
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


# Effects that follow their causes


@dataclass(frozen=True)
class Soft:
    """Relaxed draws for rows of a table with rules, and all that they came from."""

    layout: Layout
    question: Question
    log_p: Tensor
    noise: Tensor
    mixed: Tensor

    @classmethod
    def of(cls, layout: Layout, question: Question, seed: int, tau: float, epsilon: float = 0.0) -> Soft:
        rng, segments = np.random.default_rng(seed), Segments.of(layout)
        scores = torch.from_numpy(
            rng.normal(0, 1.5, question.room.open.shape) + log_weights(question.room, epsilon=epsilon)
        )
        log_p = segments.log_softmax(scores.requires_grad_())
        noise = gumbel(tuple(log_p.shape), torch.Generator().manual_seed(seed)).double()
        selected = torch.from_numpy(rng.choice([0.02, 0.5, 0.9, 0.98], question.levels.shape))
        own = torch.from_numpy(layout.one_hot(question.levels)).double()
        return cls(
            layout, question, log_p, noise, mix(own, cat_concrete(log_p, noise, tau, segments), selected, segments)
        )

    def bound(self, tau: float) -> Tensor:
        schema, room = self.layout.schema, self.question.room
        own = torch.from_numpy(self.layout.one_hot(self.question.levels)).double()
        return bind_softly(
            bonds(schema.rules, schema.names), self.layout, self.mixed, own, torch.from_numpy(room.open), self.log_p,
            self.noise, tau,
        )  # fmt: skip

    def heaviest(self, drawn: Tensor) -> np.ndarray:
        """Return the level of each feature whose place is the heaviest."""
        return np.stack([drawn[:, part].detach().argmax(dim=1).numpy() for part in parts_of(self.layout)], axis=1)


@given(layouts(hows=HOWS, ruled=True), SEEDS, TEMPERATURES, st.sampled_from([0.0, 0.3]))
def test_effects_are_bound_as_in_the_slow_version(layout, seed, tau, epsilon):
    soft = Soft.of(layout, random_question(layout, 5, np.random.default_rng(seed)), seed, tau, epsilon)
    bound = soft.bound(tau)
    for row, own in enumerate(soft.question.levels.tolist()):
        given_by = (each[row].tolist() for each in (soft.mixed, soft.log_p, soft.noise))
        expected = slow_bound(layout, own, soft.question.room.open[row].tolist(), *given_by, tau)
        np.testing.assert_allclose(bound[row].detach(), expected, rtol=1e-6, atol=1e-9)


def tied(*rules: Implies) -> Layout:
    layout = layout_of((3, 3, 4, 2))
    return Layout(replace(layout.schema, rules=rules), layout.axes)


CHAINS = {
    "must rise": (Implies("f0", "f1"),),
    "must not fall": (Implies("f0", "f1", "must_not_fall"),),
    "only if": (Implies("f0", "f1", "only_if"),),
    "a chain": (Implies("f1", "f2"), Implies("f0", "f1")),
    "two causes": (Implies("f0", "f2"), Implies("f1", "f2", "must_not_fall")),
    "a mixed chain": (Implies("f3", "f0", "only_if"), Implies("f0", "f2")),
}


@pytest.mark.parametrize("rules", CHAINS.values(), ids=CHAINS)
def test_the_heaviest_levels_keep_the_rules_and_what_kept_them_is_left_alone(rules):
    layout = tied(*rules)
    soft = Soft.of(layout, random_question(layout, 800, np.random.default_rng(0)), 0, 0.2)
    own, names = soft.question.levels, layout.schema.names
    bound, before, after = soft.bound(0.2), soft.heaviest(soft.mixed), soft.heaviest(soft.bound(0.2))
    kept_before, kept = (
        np.all([meets_rule(rule, names, own, levels) for rule in rules], axis=0) for levels in (before, after)
    )
    assert kept.all()
    assert 10 < (~kept_before).sum() < 790
    assert torch.equal(bound[torch.from_numpy(kept_before)], soft.mixed[torch.from_numpy(kept_before)])
    np.testing.assert_allclose(Segments.of(layout).total(bound).detach(), 1, rtol=1e-6)
    effects = [names.index(rule.effect) for rule in rules]
    for i in set(range(4)) - set(effects):
        assert torch.equal(bound[:, parts_of(layout)[i]], soft.mixed[:, parts_of(layout)[i]])


def test_an_effect_without_a_level_that_fits_is_left_as_it_was():
    layout = tied(Implies("f0", "f1"), Implies("f2", "f1", "only_if"))
    soft = Soft.of(layout, random_question(layout, 300, np.random.default_rng(1)), 1, 0.2)
    before, own = soft.heaviest(soft.mixed), soft.question.levels
    torn = torch.from_numpy((before[:, 0] > own[:, 0]) & (before[:, 2] <= own[:, 2]))
    assert torn.any()
    assert torch.equal(soft.bound(0.2)[torn], soft.mixed[torn])


def test_without_rules_nothing_is_bound():
    layout = tied()
    soft = Soft.of(layout, random_question(layout, 20, np.random.default_rng(2)), 2, 0.2)
    assert torch.equal(soft.bound(0.2), soft.mixed)


def test_a_cold_effect_that_has_to_rise_has_the_frequencies_of_its_law_above():
    layout, count = tied(Implies("f0", "f2")), 20_000
    question = question_for(layout, np.repeat([[0.0, 0.0, 1.0, 0.0]], count, axis=0))
    segments = Segments.of(layout)
    scores = torch.tensor([-9.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.5, -0.5, 0.3, 0.0, 0.0]).expand(count, 12)
    log_p, noise = segments.log_softmax(scores), gumbel((count, 12), torch.Generator().manual_seed(3))
    drawn = cat_concrete(log_p, noise, 1e-3, segments)
    own, open_to = torch.from_numpy(layout.one_hot(question.levels)), torch.from_numpy(question.room.open)
    rules = bonds(layout.schema.rules, layout.schema.names)
    bound = bind_softly(rules, layout, drawn, own, open_to, log_p, noise, 1e-3)
    risen = drawn[:, 1:3].sum(dim=1) > 0.5
    assert risen.float().mean() > 0.99
    above = torch.tensor([-0.5, 0.3]).exp()
    np.testing.assert_allclose(bound[risen, 6:10].mean(dim=0), [0, 0, *(above / above.sum())], atol=0.015)


@given(layouts(hows=HOWS, ruled=True), SEEDS, TEMPERATURES)
def test_gradients_through_bound_effects_are_finite(layout, seed, tau):
    rng = np.random.default_rng(seed)
    question = random_question(layout, 4, rng)
    weights = torch.from_numpy(log_weights(question.room, epsilon=0.0))
    scores = torch.from_numpy(rng.normal(size=weights.shape)).requires_grad_()
    segments, noise = Segments.of(layout), gumbel(tuple(weights.shape), torch.Generator().manual_seed(seed)).double()
    log_p = segments.log_softmax(scores + weights)
    own = torch.from_numpy(layout.one_hot(question.levels)).double()
    share = torch.from_numpy(rng.random(question.levels.shape)).requires_grad_()
    mixed = mix(own, cat_concrete(log_p, noise, tau, segments), share, segments)
    schema = layout.schema
    bound = bind_softly(
        bonds(schema.rules, schema.names), layout, mixed, own, torch.from_numpy(question.room.open), log_p, noise, tau
    )
    assert torch.isfinite(bound).all()
    (bound * torch.from_numpy(rng.normal(size=weights.shape))).sum().backward()
    for tensor in (scores, share):
        assert torch.isfinite(tensor.grad).all()
    assert (scores.grad[weights == -torch.inf] == 0).all()


def test_an_effect_that_had_to_follow_teaches_the_generator_where_to_and_the_selector_nothing():
    layout = tied(Implies("f0", "f2"))
    question = question_for(layout, np.array([[0.0, 0.0, 1.0, 0.0]]))
    segments, own = Segments.of(layout), torch.from_numpy(layout.one_hot(question.levels)).double()
    scores, share = torch.zeros(1, 12, dtype=torch.float64), torch.tensor([[0.99, 0.01, 0.01, 0.01]]).double()
    scores[0, 1] = 9.0  # f0 rises
    scores.requires_grad_(), share.requires_grad_()
    log_p, noise = segments.log_softmax(scores), gumbel((1, 12), torch.Generator().manual_seed(0)).double()
    bound = bind_softly(
        bonds(layout.schema.rules, layout.schema.names), layout,
        mix(own, cat_concrete(log_p, noise, 1.0, segments), share, segments), own, torch.from_numpy(question.room.open),
        log_p, noise, 1.0,
    )  # fmt: skip
    bound[0, 9].backward()  # the top of f2
    assert bound[0, 6:8].tolist() == [0, 0]
    assert scores.grad[0, 9] > 0 > scores.grad[0, 8]
    assert (scores.grad[0, [6, 7]].abs() < 1e-12).all()
    assert share.grad[0, 2] == 0
