"""Exponentials against the library's, and the same to the bit in every way to work them out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compiling import uncompiled
from l2c.core import exponential
from l2c.core.compiled import compiles
from l2c.core.exponential import LEAST, exponentials, raise_all, shares

NUMBERS = -np.abs(np.concatenate([np.random.default_rng(0).normal(0, 10.0**power, 5000) for power in range(-8, 4)]))


def test_exponentials_are_right_to_the_last_digits():
    told, right = exponentials(NUMBERS), np.array([math.exp(number) for number in NUMBERS])
    kept = NUMBERS >= LEAST
    assert np.abs(told[kept] / right[kept] - 1).max() < 1e-15
    assert (told[~kept] == 0).all()
    assert (~kept).any()


def test_the_ends_are_exact():
    told = exponentials(np.array([0.0, -0.0, LEAST, np.nextafter(LEAST, -np.inf), -np.inf, np.nan]))
    assert told[:2].tolist() == [1.0, 1.0]
    assert told[2] == pytest.approx(math.exp(LEAST), rel=1e-15)
    assert told[3:5].tolist() == [0.0, 0.0]
    assert np.isnan(told[5])


def test_shares_are_the_odds_that_leads_stand_for_and_add_up():
    leads = np.concatenate([NUMBERS, -NUMBERS, [-np.inf, np.inf]])
    told = shares(leads)
    assert told == pytest.approx([1 / (1 + math.exp(min(-lead, 700.0))) for lead in leads], rel=1e-14, abs=1e-300)
    assert told + shares(-leads) == pytest.approx(np.ones(len(leads)), rel=1e-15)
    assert (np.diff(shares(np.sort(leads))) >= 0).all()


def test_a_number_is_the_same_to_the_bit_in_any_batch():
    together = exponentials(NUMBERS)
    for start, stop in ((0, 1), (3, 10), (17, 1000)):
        assert exponentials(NUMBERS[start:stop]).tobytes() == together[start:stop].tobytes()
    assert exponentials(NUMBERS.reshape(12, -1).T).tobytes() == together.reshape(12, -1).T.copy().tobytes()


@pytest.mark.skipif(not compiles(), reason="numba is not installed")
def test_compiled_or_not_they_are_the_same_to_the_bit(monkeypatch):
    leads = np.concatenate([NUMBERS, -NUMBERS, [-np.inf, np.inf]])
    told = [(exponentials(NUMBERS).tobytes(), shares(leads).tobytes())]
    some = np.empty(3000)
    with uncompiled(exponential):
        # One by one, which only Python does as it stands.
        raise_all.plain(some, NUMBERS[:3000], 1.0)
    assert some.tobytes() == exponentials(NUMBERS[:3000]).tobytes()
    monkeypatch.setattr(exponential, "compiles", lambda: False)
    told.append((exponentials(NUMBERS).tobytes(), shares(leads).tobytes()))
    assert told[0] == told[1]
