"""Selection against brute force on small pools."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from compiling import uncompiled
from l2c.core.compiled import compiles
from l2c.release import choosing
from l2c.release.choosing import best_sets, best_sets_at_once
from l2c.release.select import Selection, choose, in_whole_numbers


def score(pool: np.ndarray, worth: np.ndarray, chosen: tuple[int, ...], distance: float) -> float:
    """Return the mean worth of a set plus λ times its mean pairwise distance."""
    pairs = list(combinations(chosen, 2))
    apart = sum((pool[a] != pool[b]).mean() for a, b in pairs) / len(pairs)
    return worth[list(chosen)].mean() + distance * apart


def pools(seed: int, rows: int = 6, size: int = 14, features: int = 5):
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 3, (rows, size, features)).astype(np.int16)
    return pool, np.ones((rows, size), dtype=bool), rng.random((rows, size))


def flat(pool: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the candidates of all rows one after the other, in no order, and where those of each pool stand."""
    order = np.random.default_rng(0).permutation(present.size)
    place = np.argsort(order).reshape(present.shape)
    return pool.reshape(-1, pool.shape[2])[order], np.where(present, place, -1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("distance", [0.5, 1.0, 3.0])
def test_a_set_is_nearly_the_best_there_is(seed, distance):
    pool, present, worth = pools(seed)
    chosen = choose(*flat(pool, present), worth, 4, distance)
    for row, members in enumerate(chosen):
        best = max(score(pool[row], worth[row], some, distance) for some in combinations(range(14), 4))
        assert score(pool[row], worth[row], tuple(members), distance) >= best - 0.05 * abs(best)


def test_no_single_swap_makes_a_set_better():
    pool, present, worth = pools(1, rows=3, size=40)
    chosen = choose(*flat(pool, present), worth, 6, 1.5)
    for row, members in enumerate(chosen):
        now = score(pool[row], worth[row], tuple(members), 1.5)
        for place in range(6):
            for other in set(range(40)) - set(members.tolist()):
                swapped = tuple(other if i == place else member for i, member in enumerate(members))
                assert score(pool[row], worth[row], swapped, 1.5) <= now + 1e-9


def test_members_differ_and_come_from_the_pool():
    pool, present, worth = pools(2)
    present[:, 9:] = False
    chosen = choose(*flat(pool, present), worth, 5, 1.0)
    assert all(len(set(members)) == 5 and max(members) < 9 for members in chosen.tolist())


def test_a_pool_that_is_too_small_is_taken_whole():
    pool, present, worth = pools(3)
    present[0, 3:] = False
    chosen = choose(*flat(pool, present), worth, 5, 1.0)
    assert sorted(chosen[0].tolist()) == [-1, -1, 0, 1, 2]
    assert (chosen[0, 3:] == -1).all()
    assert (chosen[1:] >= 0).all()


def test_without_distance_the_worthiest_are_taken_in_order():
    pool, present, worth = pools(4)
    chosen = choose(*flat(pool, present), worth, 5, 0.0)
    assert (chosen == np.argsort(-worth, axis=1)[:, :5]).all()


def test_the_first_to_read_is_the_worthiest_and_the_next_the_best_beside_it():
    pool, present, worth = pools(5)
    for row, members in enumerate(choose(*flat(pool, present), worth, 5, 1.5)):
        assert worth[row, members[0]] == worth[row, members].max()
        gains = [worth[row, m] + 3.0 * (pool[row, m] != pool[row, members[0]]).mean() for m in members[1:]]
        assert gains[0] == pytest.approx(max(gains))


def test_a_row_gets_the_same_set_alone_and_in_a_batch():
    pool, present, worth = pools(6)
    together = choose(*flat(pool, present), worth, 5, 1.5)
    for row in range(len(pool)):
        part = slice(row, row + 1)
        assert (choose(*flat(pool[part], present[part]), worth[part], 5, 1.5)[0] == together[row]).all()


def wild_pools(rng: np.random.Generator):
    """Return pools of any size, with ties, repeats and empty places, and a size and a weight to choose with."""
    rows, size, features = (
        int(rng.integers(1, 5)),
        int(rng.choice([3, 150, 600]) * rng.random()) + 1,
        rng.integers(1, 9),
    )
    pool = rng.integers(0, rng.integers(2, 5), (rows, size, features)).astype(np.int16)
    pool[:, :, rng.random(features) < 0.2] = 1
    present = rng.random((rows, size)) < rng.choice([0.0, 0.3, 0.9, 1.0])
    worth = np.round(rng.normal(size=(rows, size)) * rng.choice([0.1, 1.0, 1e4]), int(rng.integers(0, 4)))
    return pool, present, worth, int(rng.integers(1, 12)), float(rng.choice([0.3, 1.0, 2.5]))


BYTES, WIDE = np.empty(0, np.uint8), np.empty(0, np.int32)


@pytest.mark.parametrize("seed", range(60))
def test_compiled_and_plain_loops_choose_the_same_sets(seed):
    pool, present, worth, size, distance = wild_pools(np.random.default_rng(seed))
    gains, pull = in_whole_numbers(present, worth, size, distance, pool.shape[2])
    features = np.ascontiguousarray(pool.transpose(0, 2, 1), dtype=np.uint8)
    at_once = best_sets_at_once(features, present, gains, pull, size)
    for kind in (BYTES, WIDE) if compiles() else ():
        assert (best_sets(*flat(pool, present), gains, pull, size, kind) == at_once).all()
    assert (choose(*flat(pool, present), worth, size, distance) == at_once).all()


def test_a_set_larger_than_a_strip_is_the_same_compiled_and_plain():
    rng = np.random.default_rng(3)
    pool, present, worth = (
        rng.integers(0, 5, (2, 700, 6)).astype(np.int16),
        np.ones((2, 700), bool),
        rng.random((2, 700)),
    )
    gains, pull = in_whole_numbers(present, worth, 300, 1.0, 6)
    at_once = best_sets_at_once(np.ascontiguousarray(pool.transpose(0, 2, 1)), present, gains, pull, 300)
    assert (choose(*flat(pool, present), worth, 300, 1.0) == at_once).all()
    assert len(set(at_once[0].tolist())) == 300


@pytest.mark.parametrize("levels", [3, 300])
def test_sets_are_chosen_however_many_features_and_levels_there_are(levels):
    rng = np.random.default_rng(5)
    pool, present = rng.integers(0, levels, (2, 30, 270)).astype(np.int16), np.ones((2, 30), bool)
    pool, worth = pool[:, :, : 270 if levels == 3 else 4], rng.random((2, 30))
    gains, pull = in_whole_numbers(present, worth, 5, 1.0, pool.shape[2])
    for row, members in enumerate(choose(*flat(pool, present), worth, 5, 1.0).tolist()):
        assert members == obvious_set(pool[row], present[row], gains[row].tolist(), int(pull[row]), 5)


def test_what_a_candidate_is_worth_by_itself_is_the_share_of_features_that_it_keeps():
    rng = np.random.default_rng(2)
    levels, own, row = *(rng.integers(0, 3, (n, 6)).astype(np.int16) for n in (50, 4)), np.sort(rng.integers(0, 4, 50))
    kept = [sum(a == b for a, b in zip(one, own[at], strict=True)) for one, at in zip(levels, row, strict=True)]
    assert Selection(2.0).worth(levels, own, row, row, np.zeros(50)).tolist() == [2 * (n / 6) for n in kept]


@pytest.mark.parametrize("seed", range(40))
def test_sets_are_those_of_the_obvious_way(seed):
    pool, present, worth, size, distance = wild_pools(np.random.default_rng(seed))
    gains, pull = in_whole_numbers(present, worth, size, distance, pool.shape[2])
    chosen = choose(*flat(pool, present), worth, size, distance)
    for row in range(len(pool)):
        expected = obvious_set(pool[row], present[row], gains[row].tolist(), int(pull[row]), size)
        assert [member for member in chosen[row].tolist() if member >= 0] == expected


def obvious_set(pool: np.ndarray, present: np.ndarray, worth: list[int], pull: int, size: int) -> list[int]:
    """Return a set grown, swapped and ordered with every distance counted anew."""

    def gain(one: int, beside: list[int]) -> int:
        return worth[one] + pull * sum(int((pool[one] != pool[other]).sum()) for other in beside)

    free, members = np.flatnonzero(present).tolist(), []
    while free and len(members) < size:
        members.append(max(free, key=lambda one: gain(one, members)))
        free.remove(members[-1])
    for _ in range(2 if len(members) == size else 0):
        for place, old in enumerate(members):
            rest = members[:place] + members[place + 1 :]
            best = max(free, key=lambda one: gain(one, rest), default=old)
            if gain(best, rest) > gain(old, rest):
                members[place] = best
                free = sorted({*free, old} - {best})
    left, order = sorted(members), []
    while left:

        def read(one: int) -> int:
            apart = sum(int((pool[one] != pool[other]).sum()) for other in order)
            return max(len(order), 1) * worth[one] + pull * max(size - 1, 1) * apart

        order.append(max(left, key=read))
        left.remove(order[-1])
    return order


@pytest.mark.parametrize("scale", [1.0, 1e9])
def test_whole_numbers_keep_the_worth_to_a_millionth(scale):
    present, worth = np.ones((3, 50), dtype=bool), np.random.default_rng(0).normal(size=(3, 50)) * scale
    gains, pull = in_whole_numbers(present, worth, 10, 2.0 * scale, 20)
    top = worth.argmax(axis=1)[:, None]
    step = np.take_along_axis(gains, top, axis=1) / np.take_along_axis(worth, top, axis=1)
    assert np.abs(gains / step - worth).max() < 1e-6 * scale
    assert pull / step[:, 0] == pytest.approx(2 * 2.0 * scale / 9 / 20, rel=1e-6)
    assert (np.abs(gains).max(axis=1) + 10 * 20 * pull.astype(float) < 2**28).all()


@pytest.mark.parametrize("remembered", [0, 1, 3 * choosing.STRIP, choosing.REMEMBERED])
@pytest.mark.parametrize("seed", range(4))
def test_the_loops_mean_the_same_without_a_compiler(seed, remembered, monkeypatch):
    (pool, present, worth), size, distance = pools(seed, rows=2, size=300 - 80 * seed), 7, 1.0
    present[0, 1::3] = False
    gains, pull = in_whole_numbers(present, worth, size, distance, pool.shape[2])
    monkeypatch.setattr(choosing, "REMEMBERED", remembered)
    with uncompiled(choosing):
        found = choosing.best_sets(*flat(pool, present), gains, pull, size, WIDE)
    columns = np.ascontiguousarray(pool.transpose(0, 2, 1), dtype=np.uint8)
    assert (found == best_sets_at_once(columns, present, gains, pull, size)).all()
