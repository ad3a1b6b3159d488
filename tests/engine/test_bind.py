"""Effects drawn after their causes, against the law written out over every combination."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.rules import Implies, bonds, meets_rule
from l2c.engine.bind import bind, fall, take_back
from tables import HOWS, SEEDS

NAMES = ("a", "b", "c", "d")
Law = list[list[float]]


def may_be(rules: tuple[Implies, ...], effect: int, levels: tuple[int, ...], own: tuple[int, ...], level: int) -> bool:
    """Return whether the rules on one effect let it take a level, its causes being as they are."""
    for rule in rules:
        if NAMES.index(rule.effect) != effect:
            continue
        cause = NAMES.index(rule.cause)
        risen = levels[cause] > own[cause]
        if rule.how == "must_rise" and risen and level <= own[effect]:
            return False
        if rule.how == "must_not_fall" and risen and level < own[effect]:
            return False
        if rule.how == "only_if" and not risen and level > own[effect]:
            return False
    return True


def slow_joint(
    rules: tuple[Implies, ...], law: Law, own: tuple[int, ...], open_to: list[list[bool]]
) -> dict[tuple[int, ...], float]:
    """Return the law of all features: each one's own, restricted to what its causes leave it.

    Where the law has nothing left there, what is open is taken evenly; where nothing is open, the law is as it was.
    """
    joint = {}
    for levels in product(*(range(len(part)) for part in law)):
        joint[levels] = 1.0
        for i, part in enumerate(law):
            fits = [may_be(rules, i, levels, own, j) for j in range(len(part))]
            choices = [
                [p * fit for p, fit in zip(part, fits, strict=True)],
                [float(free and fit) for free, fit in zip(open_to[i], fits, strict=True)],
                part,
            ]
            # A draw that already fits is never drawn again, so the law as it was counts only where nothing fits.
            mass = next(choice for choice in choices if sum(choice) > 0)
            joint[levels] *= mass[levels[i]] / sum(mass)
    return joint


def bound(
    rules: tuple[Implies, ...], law: Law, own: tuple[int, ...], open_to: list[list[bool]], count: int, seed: int = 0
) -> np.ndarray:
    """Return independent draws, each of its own law, with effects bound to their causes."""
    rng, tied = np.random.default_rng(seed), bonds(rules, NAMES)
    levels = np.stack([rng.choice(len(part), count, p=part) for part in law], axis=1).astype(np.int16)
    every = np.repeat(np.array([own], dtype=np.int16), count, axis=0)
    uniforms = rng.integers(0, 2**32, (count, len(tied)), dtype=np.uint32)
    bind(
        tied,
        levels,
        every,
        uniforms,
        lambda i, at: np.repeat(np.array(law[i])[:, None], len(at), axis=1),
        lambda i, at: np.repeat(np.array(open_to[i], dtype=np.float64)[:, None], len(at), axis=1),
    )
    return levels


def distance(drawn: np.ndarray, expected: dict[tuple[int, ...], float]) -> float:
    """Return the total variation between draws and a law over every combination."""
    seen = Counter(map(tuple, drawn.tolist()))
    assert set(seen) <= {levels for levels, p in expected.items() if p > 0}
    return sum(abs(seen[levels] / len(drawn) - p) for levels, p in expected.items()) / 2


THREE = [[0.2, 0.3, 0.5], [0.4, 0.35, 0.25], [0.1, 0.6, 0.3]]
OPEN = [[True] * 3] * 3
MIDDLE = (1, 1, 1)

CASES = {
    "must rise": (Implies("a", "b"),),
    "must not fall": (Implies("a", "b", "must_not_fall"),),
    "only if": (Implies("a", "b", "only_if"),),
    "an effect that stands before its cause": (Implies("c", "a"),),
    "a chain": (Implies("b", "c"), Implies("a", "b")),
    "a mixed chain": (Implies("a", "b", "only_if"), Implies("b", "c", "must_not_fall")),
    "a chain of conditions": (Implies("b", "c", "only_if"), Implies("a", "b", "only_if")),
    "two causes": (Implies("a", "c"), Implies("b", "c")),
    "two causes of two sorts": (Implies("a", "c", "must_not_fall"), Implies("b", "c", "only_if")),
    "two rules on a pair": (Implies("a", "b"), Implies("a", "b", "only_if")),
    "two effects": (Implies("a", "b"), Implies("a", "c", "must_not_fall")),
    "a cause with a cause beside it": (Implies("a", "b"), Implies("a", "c"), Implies("b", "c", "only_if")),
}


@pytest.mark.parametrize("rules", CASES.values(), ids=CASES)
@pytest.mark.parametrize("own", [MIDDLE, (0, 1, 0)])
def test_an_effect_follows_its_law_given_its_causes(rules, own):
    assert distance(bound(rules, THREE, own, OPEN, 40_000), slow_joint(rules, THREE, own, OPEN)) < 0.015


@pytest.mark.parametrize("rules", CASES.values(), ids=CASES)
def test_the_cases_are_far_enough_from_independent_draws_to_be_told(rules):
    free = slow_joint((), THREE, MIDDLE, OPEN)
    tied = slow_joint(rules, THREE, MIDDLE, OPEN)
    assert sum(abs(free[levels] - tied[levels]) for levels in free) / 2 > 0.05


@pytest.mark.parametrize("rules", CASES.values(), ids=CASES)
def test_every_draw_then_keeps_every_rule(rules):
    drawn = bound(rules, THREE, MIDDLE, OPEN, 5_000)
    for rule in rules:
        assert meets_rule(rule, NAMES, np.array([MIDDLE]), drawn).all()


@pytest.mark.parametrize("how", HOWS)
def test_where_the_law_has_nothing_left_what_is_open_is_taken_evenly(how):
    # The law of the effect lies where its cause forbids it, and level 1, its own, is open only as the others are.
    law = {"must_rise": [0.5, 0.5, 0.0, 0.0], "must_not_fall": [1.0, 0.0, 0.0, 0.0], "only_if": [0.0, 0.0, 0.6, 0.4]}
    rules, part = (Implies("a", "b", how),), [[0.5, 0.5], law[how]]
    open_to = [[True, True], [True, True, True, True]]
    expected = slow_joint(rules, part, (0, 1), open_to)
    assert distance(bound(rules, part, (0, 1), open_to, 30_000), expected) < 0.015
    shut = [[True, True], [True, how != "must_not_fall", True, how == "must_not_fall"]]
    expected = slow_joint(rules, part, (0, 1), shut)
    assert distance(bound(rules, part, (0, 1), shut, 30_000), expected) < 0.015


def test_where_nothing_is_open_the_draw_stays_as_it_was():
    rules, part = (Implies("a", "b"),), [[0.0, 1.0], [0.3, 0.7, 0.0]]
    drawn = bound(rules, part, (0, 1), [[True, True], [True, True, False]], 20_000)
    assert (drawn[:, 1] == 1).mean() == pytest.approx(0.7, abs=0.015)
    assert not (drawn[:, 1] == 2).any()


def test_an_effect_at_its_top_has_nowhere_to_go():
    drawn = bound((Implies("a", "b"),), [[0.0, 1.0], [0.3, 0.7]], (0, 1), [[True, True]] * 2, 100)
    assert (drawn[:, 0] == 1).all()
    assert set(drawn[:, 1].tolist()) == {0, 1}


def test_a_cause_that_rises_by_a_rule_raises_its_own_effect():
    law = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
    rules = (Implies("c", "d"), Implies("b", "c"), Implies("a", "b"))
    assert (bound(rules, law, (0, 0, 0, 0), [[True, True]] * 4, 10) == 1).all()


@given(SEEDS)
def test_a_line_is_bound_as_if_it_were_alone(seed):
    rng = np.random.default_rng(seed)
    rules = (Implies("a", "b"), Implies("b", "c", "only_if"), Implies("a", "c", "must_not_fall"), Implies("c", "d"))
    tied, sizes = bonds(rules, NAMES), (3, 9, 4, 3)
    levels, own = (rng.integers(0, sizes, (60, 4)).astype(np.int16) for _ in range(2))
    uniforms = rng.integers(0, 2**32, (60, len(tied)), dtype=np.uint32)
    masses = [rng.random((size, 60)) * (rng.random((size, 60)) < 0.4) for size in sizes]

    def drawn(lines: np.ndarray) -> np.ndarray:
        after = levels[lines].copy()
        bind(
            tied, after, own[lines], uniforms[lines],
            lambda i, at: masses[i][:, lines[at]], lambda i, at: (masses[i] < 0.5)[:, lines[at]].astype(np.float64),
        )  # fmt: skip
        return after

    together = drawn(np.arange(60))
    for lines in ([7], [59, 0, 3], list(range(60))[::-1]):
        assert (drawn(np.array(lines)) == together[lines]).all()


@given(SEEDS)
def test_what_fits_is_left_alone_and_causes_are_never_touched(seed):
    rng = np.random.default_rng(seed)
    rules = (Implies("a", "b"), Implies("a", "c", "only_if"))
    levels, own = (rng.integers(0, 3, (80, 4)).astype(np.int16) for _ in range(2))
    after = levels.copy()
    even = lambda i, at: np.ones((3, len(at)))  # noqa: E731, ARG005
    bind(bonds(rules, NAMES), after, own, rng.integers(0, 2**32, (80, 2), dtype=np.uint32), even, even)
    assert (after[:, [0, 3]] == levels[:, [0, 3]]).all()
    for rule in rules:
        fits = meets_rule(rule, NAMES, own, levels)
        effect = NAMES.index(rule.effect)
        assert (after[fits, effect] == levels[fits, effect]).all()
        assert fits.any()
        assert not fits.all()


# The level that a uniform integer falls on


@given(SEEDS, st.integers(1, 9))
def test_a_uniform_falls_on_the_first_level_whose_running_mass_is_above_it(seed, size):
    rng = np.random.default_rng(seed)
    mass = rng.random((size, 30)) * (rng.random((size, 30)) < 0.7)
    mass[rng.integers(0, size), :] += 0.1
    uniforms = rng.integers(0, 2**32, 30, dtype=np.uint32)
    uniforms[:4] = [0, 1, 2**32 - 1, 2**31]
    for line, level in enumerate(fall(mass, uniforms).tolist()):
        threshold, running = (int(uniforms[line]) >> 1) / 2**31 * math.fsum(mass[:, line]), 0.0
        edges = [running := running + float(each) for each in mass[:, line]]
        expected = next(j for j, edge in enumerate(edges) if threshold < edge)
        near = min(abs(edge - threshold) for edge in edges) < 1e-12
        assert level == expected or near
        assert mass[level, line] > 0


# Not more changes than may be


def free(lines: np.ndarray) -> np.ndarray:
    """Return that every feature of some lines may stay as it was."""
    return np.ones((len(lines), 1), dtype=bool)


def slow_take_back(tied: set[int], levels: list[int], own: list[int], most: int, may_stay: list[bool]) -> list[int]:
    """Return one line after undoing, feature by feature."""
    now = list(levels)
    changed = [i for i in range(len(own)) if levels[i] != own[i]]
    if len(changed) <= most:
        return now
    if sum(i in tied for i in changed) > most:
        for i in changed:
            if i in tied and may_stay[i]:
                now[i] = own[i]
    for i in reversed(changed):
        if sum(x != y for x, y in zip(now, own, strict=True)) > most and i not in tied and may_stay[i]:
            now[i] = own[i]
    return now


@given(SEEDS)
def test_too_many_changes_are_undone_as_in_the_slow_version(seed):
    rng = np.random.default_rng(seed)
    tied = bonds((Implies("a", "c"), Implies("c", "d", "only_if")), (*NAMES, "e", "f"))
    levels, own = (rng.integers(0, 3, (60, 6)).astype(np.int16) for _ in range(2))
    most, may_stay = rng.integers(0, 7, 60), rng.random((60, 6)) < 0.8
    after = levels.copy()
    take_back(tied, after, own, most, lambda at: may_stay[at])
    for line in range(60):
        expected = slow_take_back(
            {0, 2, 3}, levels[line].tolist(), own[line].tolist(), int(most[line]), may_stay[line].tolist()
        )
        assert after[line].tolist() == expected


@given(SEEDS)
def test_what_kept_the_rules_keeps_them_after_undoing_and_changes_no_more_than_it_may(seed):
    """At most as many other features as may change do, as coins see to: only effects that follow are too many."""
    rng = np.random.default_rng(seed)
    names, rules = (
        (*NAMES, "e", "f"),
        (Implies("a", "c"), Implies("c", "d", "must_not_fall"), Implies("d", "b", "only_if")),
    )
    levels, own = (rng.integers(0, 3, (200, 6)).astype(np.int16) for _ in range(2))
    kept = np.all([meets_rule(rule, names, own, levels) for rule in rules], axis=0)
    most = rng.integers(0, 7, 200)
    kept &= (levels[:, 4:] != own[:, 4:]).sum(axis=1) <= most
    levels, own, most = levels[kept], own[kept], most[kept]
    take_back(bonds(rules, names), levels, own, most, free)
    assert ((levels != own).sum(axis=1) <= most).all()
    for rule in rules:
        assert meets_rule(rule, names, own, levels).all()


def test_changes_that_no_rule_speaks_of_go_first_and_the_last_of_them_before_the_others():
    tied = bonds((Implies("b", "c"),), (*NAMES, "e"))
    levels, own = np.ones((4, 5), dtype=np.int16), np.zeros((4, 5), dtype=np.int16)
    take_back(tied, levels, own, np.array([5, 3, 2, 1]), free)
    assert levels.tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 1, 0, 0], [1, 0, 0, 0, 0]]


def test_what_must_change_is_not_undone():
    tied = bonds((Implies("b", "c"),), (*NAMES, "e"))
    levels, own = np.ones((2, 5), dtype=np.int16), np.zeros((2, 5), dtype=np.int16)
    may_stay = np.array([[True, True, True, True, False], [True, False, True, True, True]])
    take_back(tied, levels, own, np.array([3, 1]), lambda at: may_stay[at])
    assert levels.tolist() == [[0, 1, 1, 0, 1], [0, 1, 0, 0, 0]]
