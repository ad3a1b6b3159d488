"""Selection against brute force on small pools."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from l2c.release.select import choose


def score(pool: np.ndarray, worth: np.ndarray, chosen: tuple[int, ...], distance: float) -> float:
    """Return the mean worth of a set plus λ times its mean pairwise distance."""
    pairs = list(combinations(chosen, 2))
    apart = sum((pool[a] != pool[b]).mean() for a, b in pairs) / len(pairs)
    return worth[list(chosen)].mean() + distance * apart


def pools(seed: int, rows: int = 6, size: int = 14, features: int = 5):
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 3, (rows, size, features)).astype(np.int16)
    return pool, np.ones((rows, size), dtype=bool), rng.random((rows, size))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("distance", [0.5, 1.0, 3.0])
def test_a_set_is_nearly_the_best_there_is(seed, distance):
    pool, present, worth = pools(seed)
    chosen = choose(pool, present, worth, 4, distance)
    for row, members in enumerate(chosen):
        best = max(score(pool[row], worth[row], some, distance) for some in combinations(range(14), 4))
        assert score(pool[row], worth[row], tuple(members), distance) >= best - 0.05 * abs(best)


def test_no_single_swap_makes_a_set_better():
    pool, present, worth = pools(1, rows=3, size=40)
    chosen = choose(pool, present, worth, 6, 1.5)
    for row, members in enumerate(chosen):
        now = score(pool[row], worth[row], tuple(members), 1.5)
        for place in range(6):
            for other in set(range(40)) - set(members.tolist()):
                swapped = tuple(other if i == place else member for i, member in enumerate(members))
                assert score(pool[row], worth[row], swapped, 1.5) <= now + 1e-9


def test_members_differ_and_come_from_the_pool():
    pool, present, worth = pools(2)
    present[:, 9:] = False
    chosen = choose(pool, present, worth, 5, 1.0)
    assert all(len(set(members)) == 5 and max(members) < 9 for members in chosen.tolist())


def test_a_pool_that_is_too_small_is_taken_whole():
    pool, present, worth = pools(3)
    present[0, 3:] = False
    chosen = choose(pool, present, worth, 5, 1.0)
    assert sorted(chosen[0].tolist()) == [-1, -1, 0, 1, 2]
    assert (chosen[0, 3:] == -1).all()
    assert (chosen[1:] >= 0).all()


def test_without_distance_the_worthiest_are_taken_in_order():
    pool, present, worth = pools(4)
    chosen = choose(pool, present, worth, 5, 0.0)
    assert (chosen == np.argsort(-worth, axis=1)[:, :5]).all()


def test_the_first_to_read_is_the_worthiest_and_the_next_the_best_beside_it():
    pool, present, worth = pools(5)
    for row, members in enumerate(choose(pool, present, worth, 5, 1.5)):
        assert worth[row, members[0]] == worth[row, members].max()
        gains = [worth[row, m] + 3.0 * (pool[row, m] != pool[row, members[0]]).mean() for m in members[1:]]
        assert gains[0] == pytest.approx(max(gains))


def test_a_row_gets_the_same_set_alone_and_in_a_batch():
    pool, present, worth = pools(6)
    together = choose(pool, present, worth, 5, 1.5)
    for row in range(len(pool)):
        part = slice(row, row + 1)
        assert (choose(pool[part], present[part], worth[part], 5, 1.5)[0] == together[row]).all()
