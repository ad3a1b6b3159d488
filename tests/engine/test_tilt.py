"""Tilted laws against every combination of small layouts, written out."""

from __future__ import annotations

from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from compiling import uncompiled
from engine.proposing import TINY
from l2c.core import exponential
from l2c.core.compiled import compiles
from l2c.core.layout import Layout
from l2c.engine import tilt
from l2c.engine.sample import mixed_law
from l2c.engine.tilt import FARTHEST, below_best, moments, strength, tilted
from laws import layout_of

WIDE = layout_of((3, 4, 2, 5, 3, 2, 4, 3))


def world(layout: Layout, rows: int, seed: int, *, hard: float = 1.0) -> dict[str, np.ndarray]:
    """Return random laws of some rows, random gains of all levels, and a lead to begin with that is mostly behind."""
    rng = np.random.default_rng(seed)
    local = rng.gamma(2.0, size=(rows, layout.width))
    local /= np.repeat(np.add.reduceat(local, layout.offsets, axis=1), layout.sizes, axis=1)
    return {
        "local": local,
        "selection": rng.uniform(0.3, 0.9, (rows, len(layout.axes))),
        "levels": rng.integers(0, layout.sizes, (rows, len(layout.axes))).astype(np.int16),
        "gains": rng.normal(0, 1, (rows, layout.width)),
        "start": rng.normal(-3.0 * hard, 1, rows),
    }


def every(layout: Layout) -> np.ndarray:
    """Return the place on the flat axis of each feature, for every combination of levels."""
    return np.array(list(product(*(range(size) for size in layout.sizes)))) + layout.offsets


def of_all(law: np.ndarray, layout: Layout) -> np.ndarray:
    """Return the probability of every combination under one row's law of independent features."""
    return law[every(layout)].prod(axis=1)


def divergence(law: np.ndarray, other: np.ndarray) -> float:
    return float(np.sum(law * np.log(law / other)))


def laws_of(layout: Layout, given: dict[str, np.ndarray], share: float, noise: float = 0.0):
    """Return the law before and after tilting."""
    before = mixed_law(layout, given["local"], given["selection"], given["levels"])
    local, selection = tilted(layout, **given, noise=noise, share=share)
    return before, mixed_law(layout, local, selection, given["levels"])


def share_reached(layout: Layout, law: np.ndarray, gains: np.ndarray, start: float) -> float:
    """Return the probability that the gains of a combination take the lead above zero."""
    return float(of_all(law, layout)[gains[every(layout)].sum(axis=1) + start > 0].sum())


def test_the_tilted_law_is_the_nearest_of_all_laws_with_its_mean_lead():
    given = world(TINY, 5, 0)
    before, after = laws_of(TINY, given, 0.6)
    rng = np.random.default_rng(1)
    for row in range(5):
        even, law = of_all(before[row], TINY), of_all(after[row], TINY)
        lead = given["gains"][row][every(TINY)].sum(axis=1)
        assert law @ lead > even @ lead
        for _ in range(20):
            # Any other law with as much mass and the same mean lead: it differs in a direction that changes neither.
            fixed = np.linalg.qr(np.stack([np.ones(len(law)), lead], axis=1))[0]
            away = rng.normal(0, 1, len(law)) * law
            away -= fixed @ (fixed.T @ away)
            other = law + away * 0.3 * np.min(law / np.abs(away))
            assert other @ lead == pytest.approx(law @ lead)
            assert divergence(other, even) > divergence(law, even)


def test_the_tilted_law_is_the_law_times_the_exponential_of_the_gains():
    given = world(WIDE, 6, 2)
    before, after = laws_of(WIDE, given, 0.7)
    for row in range(6):
        for start, size in zip(WIDE.offsets, WIDE.sizes, strict=True):
            part = slice(start, start + size)
            gain = given["gains"][row, part]
            slope = np.polyfit(gain, np.log(after[row, part] / before[row, part]), 1)[0]
            expected = before[row, part] * np.exp(slope * gain)
            assert after[row, part] == pytest.approx(expected / expected.sum())


@pytest.mark.parametrize("share", [0.3, 0.5, 0.75, 0.9])
def test_about_the_share_that_is_wanted_is_valid_and_rows_that_have_it_are_left_alone(share):
    given = world(WIDE, 12, 3, hard=0.3)
    given["start"][:3] = 40.0
    before, after = laws_of(WIDE, given, share)
    assert after[:3] == pytest.approx(before[:3], abs=1e-15)
    for row in range(3, 12):
        gains, start = given["gains"][row], given["start"][row]
        if share_reached(WIDE, before[row], gains, start) < share - 0.05:
            assert share_reached(WIDE, after[row], gains, start) == pytest.approx(share, abs=0.08)


@pytest.mark.parametrize("share", [0.5, 0.75])
def test_where_a_sum_only_tells_odds_their_mean_is_the_share(share):
    given = world(WIDE, 8, 4)
    _, after = laws_of(WIDE, given, share, noise=np.pi**2 / 3)
    for row in range(8):
        odds = given["gains"][row][every(WIDE)].sum(axis=1) + given["start"][row]
        assert of_all(after[row], WIDE) @ (1 / (1 + np.exp(-odds))) == pytest.approx(share, abs=0.03)


def test_a_few_steps_find_the_strength_with_which_the_share_is_foreseen():
    given = world(WIDE, 400, 5, hard=0.5)
    law = mixed_law(WIDE, given["local"], given["selection"], given["levels"])
    behind, best = below_best(WIDE, law, given["gains"])
    found = strength(WIDE, law, behind, best + given["start"], noise=0.0, wanted=NormalDist().inv_cdf(0.75))
    mean, variance = moments(WIDE, law, behind, found)
    foreseen = np.array([NormalDist().cdf(z) for z in (best + given["start"] + mean) / np.sqrt(variance)])
    assert (foreseen[found == 0] >= 0.75).all()
    _, natural = moments(WIDE, law, behind, np.zeros(400))
    within = (found > 0) & (found < 0.5 * FARTHEST / np.sqrt(natural))  # of the rest some is out of reach
    assert within.sum() > 250
    assert foreseen[within] == pytest.approx(np.full(within.sum(), 0.75), abs=0.02)
    assert np.median(np.abs(foreseen[within] - 0.75)) < 0.002


def test_moments_are_those_of_the_sum_over_all_combinations():
    given = world(TINY, 4, 6)
    law, theta = mixed_law(TINY, given["local"], given["selection"], given["levels"]), np.array([0.0, 0.4, 1.0, 2.0])
    behind, _ = below_best(TINY, law, given["gains"])
    mean, variance = moments(TINY, law, behind, theta)
    for row in range(4):
        sums = behind[row][every(TINY)].sum(axis=1)
        weight = of_all(law[row], TINY) * np.exp(theta[row] * sums)
        weight /= weight.sum()
        assert mean[row] == pytest.approx(weight @ sums)
        assert variance[row] == pytest.approx(weight @ sums**2 - (weight @ sums) ** 2)


def test_what_cannot_be_drawn_stays_impossible_whatever_it_would_gain_and_what_must_change_changes():
    given = world(WIDE, 10, 7)
    closed = np.zeros(WIDE.width, dtype=bool)
    closed[[1, 4, 5, 10]] = True
    given["levels"][:] = 0
    given["local"][:, closed] = 0.0
    total = np.repeat(np.add.reduceat(given["local"], WIDE.offsets, axis=1), WIDE.sizes, axis=1)
    given["local"] /= total
    given["gains"][:, closed] = np.nan
    given["selection"][:, 2] = 1.0
    local, selection = tilted(WIDE, **given, noise=0.0, share=0.8)
    assert (local[:, closed] == 0).all()
    assert (local[:, ~closed] > 0).all()
    assert np.add.reduceat(local, WIDE.offsets, axis=1) == pytest.approx(np.ones(selection.shape))
    assert (selection[:, 2] == 1.0).all()
    assert ((selection > 0) & (selection <= 1)).all()


def test_what_is_out_of_reach_tilts_a_law_only_so_far():
    given = world(WIDE, 6, 8)
    given["start"][:] = -1000.0
    before, after = laws_of(WIDE, given, 0.9)
    _, variance = moments(WIDE, before, below_best(WIDE, before, given["gains"])[0], np.zeros(6))
    best = np.maximum.reduceat(given["gains"], WIDE.offsets, axis=1)
    behind = given["gains"] - np.repeat(best, WIDE.sizes, axis=1)
    most = before * np.exp(FARTHEST / np.sqrt(variance)[:, None] * behind)
    most /= np.repeat(np.add.reduceat(most, WIDE.offsets, axis=1), WIDE.sizes, axis=1)
    assert after == pytest.approx(most)


def test_where_nothing_can_move_the_law_stays_as_it_is():
    given = world(TINY, 3, 9)
    given["local"][:] = 0.0
    np.put_along_axis(given["local"], given["levels"] + TINY.offsets, 1.0, axis=1)
    local, selection = tilted(TINY, **given, noise=0.0, share=0.9)
    assert (local == given["local"]).all()
    assert selection == pytest.approx(given["selection"])


def test_no_levels_gain_is_lost_where_exponentials_vanish():
    """A gain of thousands leaves nothing of the other levels, and no number that is none."""
    given = world(TINY, 4, 10)
    given["gains"] *= 1e4
    given["start"] *= 1e4
    local, selection = tilted(TINY, **given, noise=0.0, share=0.9)
    assert np.isfinite(local).all()
    assert np.isfinite(selection).all()
    assert np.add.reduceat(local, TINY.offsets, axis=1) == pytest.approx(np.ones(selection.shape))


def test_a_rows_law_is_the_same_to_the_bit_in_any_batch():
    given = world(WIDE, 50, 11)
    together = tilted(WIDE, **given, noise=1.0, share=0.7)
    for some in ([7], [3, 49, 20], range(10, 33)):
        alone = tilted(WIDE, **{name: part[list(some)] for name, part in given.items()}, noise=1.0, share=0.7)
        for whole, part in zip(together, alone, strict=True):
            assert whole[list(some)].tobytes() == part.tobytes()


@pytest.mark.skipif(not compiles(), reason="numba is not installed")
def test_compiled_or_not_a_law_is_the_same_to_the_bit(monkeypatch):
    given = world(WIDE, 30, 12)
    laws = []
    for fast in (True, False):
        for module in (tilt, exponential):
            monkeypatch.setattr(module, "compiles", lambda fast=fast: fast)
        laws.append(tilted(WIDE, **given, noise=0.5, share=0.75))
    with uncompiled(tilt, exponential):
        monkeypatch.setattr(tilt, "compiles", lambda: True)
        laws.append(tilted(WIDE, **given, noise=0.5, share=0.75))
    for local, selection in laws[1:]:
        assert (local.tobytes(), selection.tobytes()) == (laws[0][0].tobytes(), laws[0][1].tobytes())
