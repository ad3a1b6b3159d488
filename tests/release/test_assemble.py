"""Sets of whole classes, against brute force on small pools."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from l2c.release.assemble import Grouped, assemble


def score(pool, worth, chosen, distance):
    """Return the mean worth of a set plus λ times its mean pairwise distance."""
    pairs = list(combinations(chosen, 2))
    apart = sum((pool[a] != pool[b]).mean() for a, b in pairs) / max(len(pairs), 1)
    return worth[list(chosen)].mean() + distance * apart


def whole(grouped, row, chosen):
    """Return whether every class of a set has k rows and l values of each sensitive feature."""
    of = grouped.of[row]
    for one in {int(of[place]) for place in chosen}:
        members = [place for place in chosen if of[place] == one]
        values = grouped.sensitive[row, members]
        if one < 0 or len(members) < grouped.k or any(len(set(column)) < grouped.l for column in values.T.tolist()):
            return False
    return True


def random_pools(seed, *, rows, size, classes, k, l, sensitive, features=6, levels=3):  # noqa: E741
    """Return pools in which every class that is left can keep the policy."""
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 3, (rows, size, features)).astype(np.int16)
    of = rng.integers(-1, classes, (rows, size))
    values = rng.integers(0, levels, (rows, size, sensitive))
    for row in range(rows):
        for one in range(classes):
            members = np.flatnonzero(of[row] == one)
            if len(members) < k or any(len(set(column)) < l for column in values[row, members].T.tolist()):
                of[row, members] = -1
    return pool, rng.random((rows, size)), Grouped(of, values, k, l)


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 2),
    st.integers(1, 20),
)
def test_whatever_the_pool_every_class_of_a_set_is_whole(seed, classes, k, l, sensitive, size):  # noqa: E741
    pool, worth, grouped = random_pools(seed, rows=4, size=30, classes=classes, k=k, l=l, sensitive=sensitive)
    chosen = assemble(pool, worth, grouped, size, 1.0)
    for row, places in enumerate(chosen.tolist()):
        there = [place for place in places if place >= 0]
        assert places == there + [-1] * (size - len(there))
        assert len(set(there)) == len(there)
        assert whole(grouped, row, there)


def test_a_set_is_nearly_the_best_there_is():
    shares = []
    for seed in range(6):
        pool, worth, grouped = random_pools(seed, rows=4, size=14, classes=4, k=2, l=2, sensitive=1)
        chosen = assemble(pool, worth, grouped, 5, 1.5)
        for row, places in enumerate(chosen):
            sets = [some for some in combinations(range(14), 5) if whole(grouped, row, some)]
            assert bool(sets) == (places >= 0).all()
            if sets:
                best = max(score(pool[row], worth[row], some, 1.5) for some in sets)
                shares.append(score(pool[row], worth[row], tuple(places), 1.5) / best)
    assert min(shares) > 0.88
    assert np.mean(shares) > 0.98


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 14))
def test_a_set_is_as_large_as_asked_wherever_a_few_more_are_there(seed, k, size):
    pool, worth, grouped = random_pools(seed, rows=3, size=40, classes=5, k=k, l=1, sensitive=0)
    chosen = assemble(pool, worth, grouped, size, 1.0)
    for row, places in enumerate(chosen):
        of = grouped.of[row]
        sizes = np.bincount(of[of >= 0], minlength=1)
        # With one class that has a few more than it needs, any size can be made up.
        if size >= k and sizes.sum() >= size + k and sizes.max() >= 2 * k - 1 + k:
            assert (places >= 0).all()


def test_no_swap_within_a_class_makes_a_set_better():
    pool, worth, grouped = random_pools(3, rows=3, size=60, classes=6, k=3, l=2, sensitive=1)
    chosen = assemble(pool, worth, grouped, 9, 1.5)
    for row, places in enumerate(chosen.tolist()):
        now = score(pool[row], worth[row], places, 1.5)
        for at, place in enumerate(places):
            for other in set(np.flatnonzero(grouped.of[row] == grouped.of[row, place]).tolist()) - set(places):
                swapped = [*places[:at], other, *places[at + 1 :]]
                assert not whole(grouped, row, swapped) or score(pool[row], worth[row], swapped, 1.5) <= now + 1e-9


def test_a_core_has_the_shares_that_are_asked_of_it():
    of = np.zeros((1, 20), dtype=np.int64)
    values = np.repeat([0, 1], [14, 6])[None, :, None]
    shares = (np.array([[0.5, 0.5]]),)
    core = Grouped(of, values, 6, 1, shares).cores(np.zeros((1, 20)))
    assert values[0, core[0, 0], 0].sum() == 3


def test_a_core_is_no_larger_than_it_must_be():
    of = np.zeros((1, 6), dtype=np.int64)
    values = np.array([[[0, 0], [0, 1], [1, 0], [0, 0], [0, 0], [0, 0]]])
    core = Grouped(of, values, 2, 2).cores(np.zeros((1, 6)))
    assert sorted(core[0, 0].tolist()) in ([-1, 1, 2], [0, 1, 2], [1, 2])
