"""Coins of which only so many may show heads, against the law written out over every set of features."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import nullcontext
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiling import uncompiled
from l2c.core.compiled import compiles
from l2c.core.streams import Streams, words_of
from l2c.engine import drawing
from l2c.engine import few as module
from l2c.engine.drawing import TOGETHER
from l2c.engine.few import edges_left, few_coins
from l2c.engine.sample import BITS
from tables import SEEDS

CHANCES = np.array([
    [0.5, 0.9, 0.2, 0.7],
    [0.99, 0.999, 0.97, 0.9999],
    [1.0, 0.3, 0.6, 0.8],
    [0.0, 0.4, 1.0, 0.0],
    [1e-9, 0.5, 1 - 1e-9, 0.01],
])  # fmt: skip


def uniform_words(rows: int, draws: int, features: int, seed: int = 0) -> np.ndarray:
    cells = np.arange(rows, dtype=np.float64)[:, None]
    return Streams.for_rows(cells, seed).draws(np.zeros(rows, np.int64), draws, features)


def slow_law(chance: list[float], most: int) -> dict[tuple[bool, ...], float]:
    """Return the probability of every outcome of independent coins, given that at most so many show heads."""
    mass = {
        coins: math.prod(c if head else 1 - c for c, head in zip(chance, coins, strict=True))
        for coins in product((False, True), repeat=len(chance))
        if sum(coins) <= most
    }
    return {coins: p / sum(mass.values()) for coins, p in mass.items()}


def distance(drawn: np.ndarray, expected: dict[tuple[bool, ...], float]) -> float:
    """Return the total variation between draws and a law."""
    seen = Counter(map(tuple, drawn.tolist()))
    assert set(seen) <= {coins for coins, p in expected.items() if p > 0}
    return sum(abs(seen[coins] / len(drawn) - p) for coins, p in expected.items()) / 2


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_coins_follow_the_exact_law_given_that_at_most_so_many_show_heads(most):
    drawn = few_coins(CHANCES, np.full(5, most), uniform_words(5, 40_000, 4))
    for chance, coins in zip(CHANCES.tolist(), drawn, strict=True):
        assert distance(coins, slow_law(chance, most)) < 0.012


def test_rows_with_other_limits_follow_each_its_own_law():
    most = np.array([1, 3, 2, 1, 0])
    drawn = few_coins(CHANCES, most, uniform_words(5, 40_000, 4, seed=1))
    for chance, limit, coins in zip(CHANCES.tolist(), most.tolist(), drawn, strict=True):
        assert distance(coins, slow_law(chance, limit)) < 0.012


def test_the_conditional_law_is_far_from_independent_coins_cut_off_where_the_limit_is_reached():
    law = slow_law(CHANCES[0].tolist(), 1)
    naive = {(True, False, False, False): 0.5, (False, True, False, False): 0.45}
    assert all(abs(law[coins] - p) > 0.1 for coins, p in naive.items())


@given(SEEDS, st.integers(1, 7), st.data())
def test_never_more_than_may_change_do(seed, features, data):
    rng = np.random.default_rng(seed)
    chance = np.where(rng.random((4, features)) < 0.3, rng.integers(0, 2, (4, features)), rng.random((4, features)))
    most = np.array(data.draw(st.lists(st.integers(0, features), min_size=4, max_size=4)))
    coins = few_coins(chance, most, rng.integers(0, 2**32, (4, 50, features), dtype=np.uint32))
    assert (coins.sum(axis=2) <= most[:, None]).all()
    assert not coins[np.broadcast_to(chance[:, None] == 0, coins.shape)].any()
    sure = (chance == 1).sum(axis=1)
    fits = sure <= most
    assert coins[fits][np.broadcast_to(chance[:, None] == 1, coins.shape)[fits]].all()


@pytest.mark.parametrize("features", [1, 2, 5, 8])
@pytest.mark.parametrize("more", [0, 3])
@pytest.mark.parametrize("compiled", [True, False])
def test_coins_along_streams_are_those_of_the_integers_behind_the_levels(features, more, compiled):
    if compiled and not compiles():
        pytest.skip("numba is not installed")
    rng = np.random.default_rng(features)
    chance = np.where(rng.random((6, features)) < 0.3, rng.integers(0, 2, (6, features)), rng.random((6, features)))
    most, first, each = rng.integers(0, features + 2, 6), rng.integers(0, 10**6, 6), 2 * features + more
    streams, count = Streams(rng.integers(0, 2**63, 6).astype(np.uint64)), TOGETHER + 30 if compiled else 9
    expected = few_coins(chance, most, streams.draws(first, count, each)[:, :, features : 2 * features])
    with nullcontext() if compiled else uncompiled(drawing, module), np.errstate(over="ignore"):
        given_ = streams.keys, first, count, words_of(each), edges_left(chance, most), most
        assert (module.few_coins_along(*given_) == expected).all()


@given(SEEDS, st.integers(1, 6), st.integers(0, 2))
def test_where_all_may_change_the_coins_are_the_independent_ones(seed, features, beyond):
    rng = np.random.default_rng(seed)
    chance = np.round(rng.random((3, features)), 3)
    uniforms = rng.integers(0, 2**32, (3, 40, features), dtype=np.uint32)
    independent = (uniforms >> 1) < np.rint(chance * 2.0**BITS)[:, None, :]
    assert (few_coins(chance, np.full(3, features + beyond), uniforms) == independent).all()


def test_a_chance_of_0_or_1_holds_for_the_least_and_the_greatest_uniform():
    chance = np.array([[0.0, 1.0, 0.5, 1.0]])
    for word in (0, 2**32 - 1):
        coins = few_coins(chance, np.array([2]), np.full((1, 1, 4), word, dtype=np.uint32))
        assert coins[0, 0].tolist() == [False, True, False, True]


@given(SEEDS, st.integers(1, 5))
def test_a_rows_coins_do_not_depend_on_the_other_rows_or_on_their_limits(seed, features):
    rng = np.random.default_rng(seed)
    chance = rng.choice([0.0, 0.1, 1 / 3, 0.7, 0.97, 1.0], (6, features)) * rng.choice([1.0, 0.99], (6, features))
    most, uniforms = rng.integers(0, features + 1, 6), rng.integers(0, 2**32, (6, 30, features), dtype=np.uint32)
    together = few_coins(chance, most, uniforms)
    for rows in ([0], [3, 1], [5, 4, 2, 0]):
        assert (few_coins(chance[rows], most[rows], uniforms[rows]) == together[rows]).all()
    # A row that may change all, or nothing, beside the others changes nothing of them.
    for limit in (0, features, features + 3):
        other = np.concatenate([most, [limit]])
        again = few_coins(np.vstack([chance, chance[:1]]), other, np.concatenate([uniforms, uniforms[:1]]))
        assert (again[:6] == together).all()


def test_a_draw_does_not_depend_on_the_draws_beside_it():
    most, uniforms = np.array([1, 3, 2, 1, 0]), uniform_words(5, 200, 4)
    together = few_coins(CHANCES, most, uniforms)
    for part in (slice(0, 1), slice(17, 40), slice(199, 200)):
        assert (few_coins(CHANCES, most, uniforms[:, part]) == together[:, part]).all()


# Hundreds of features, nearly all of which would change: the probability of so few is smaller than any number.


def few_of_hundreds(odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the law of the number of heads, and each feature's chance, given at most two: sets by their odds."""
    one, square = odds.sum(), (odds**2).sum()
    mass = np.array([1.0, one, (one**2 - square) / 2])
    return mass / mass.sum(), odds * (1 + one - odds) / mass.sum()


def test_of_hundreds_of_likely_changes_two_are_drawn_in_proportion_to_their_odds():
    chance = np.linspace(0.9, 0.999, 500)
    assert math.prod(1 - c for c in chance.tolist()) == 0.0  # even their odds against are out of reach
    heads, each = few_of_hundreds(chance / (1 - chance))
    coins = few_coins(chance[None], np.array([2]), uniform_words(1, 20_000, 500))[0]
    counts = np.bincount(coins.sum(axis=1), minlength=3)
    assert len(counts) == 3
    np.testing.assert_allclose(counts / 20_000, heads, atol=0.01)
    # In groups of a hundred, so that each is drawn often enough.
    np.testing.assert_allclose(
        coins.reshape(-1, 5, 100).sum(axis=2).mean(axis=0), each.reshape(5, 100).sum(axis=1), atol=0.02
    )


def test_half_of_hundreds_of_sure_changes_are_drawn_from_all_of_them_alike():
    chance = np.full((1, 300), 1 - 1e-6)
    coins = few_coins(chance, np.array([150]), uniform_words(1, 400, 300))[0]
    assert (coins.sum(axis=1) == 150).all()
    np.testing.assert_allclose(coins.reshape(-1, 6, 50).mean(axis=(0, 2)), 0.5, atol=0.02)


def test_of_hundreds_of_unlikely_changes_the_law_is_the_same_formula():
    chance = np.linspace(0.0, 0.01, 300)
    heads, _ = few_of_hundreds(chance / (1 - chance))
    coins = few_coins(chance[None], np.array([2]), uniform_words(1, 20_000, 300))[0]
    np.testing.assert_allclose(np.bincount(coins.sum(axis=1), minlength=3) / 20_000, heads, atol=0.015)


def test_what_must_change_does_beside_hundreds_that_are_likely_to():
    chance = np.full((2, 400), 0.999)
    chance[0, 7] = chance[1, [3, 390]] = 1.0
    coins = few_coins(chance, np.array([2, 2]), uniform_words(2, 3000, 400))
    assert coins[0, :, 7].all()
    assert coins[1, :, [3, 390]].all()
    assert (coins[1].sum(axis=1) == 2).all()
    second = np.delete(coins[0], 7, axis=1)
    assert (second.sum(axis=1) <= 1).all()
    assert second.mean(axis=0).sum() > 0.99
    halves = second[:, :200].sum(), second[:, 200:].sum()
    assert halves[0] / sum(halves) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("most", [1, 2, 150, 299])
def test_where_more_must_change_than_may_none_is_preferred_and_the_limit_holds(most):
    chance = np.full((1, 400), 0.9)
    chance[0, 100:] = 1.0
    coins = few_coins(chance, np.array([most]), uniform_words(1, 500, 400))[0]
    assert (coins.sum(axis=1) == most).all()
    assert not coins[:, :100].any()
    early, late = coins[:, 100:250].sum(), coins[:, 250:].sum()
    assert early / (early + late) == pytest.approx(0.5, abs=0.06)


def test_of_three_that_must_change_each_pair_is_drawn_alike():
    coins = few_coins(np.array([[1.0, 0.5, 1.0, 1.0]]), np.array([2]), uniform_words(1, 30_000, 4))[0]
    seen = Counter(tuple(np.flatnonzero(one).tolist()) for one in coins)
    assert set(seen) == set(combinations((0, 2, 3), 2))
    assert all(count / 30_000 == pytest.approx(1 / 3, abs=0.01) for count in seen.values())
