"""Rules between two features."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.rules import Bond, How, Implies, bonds, cycle, meets_rule
from tables import SEEDS

NAMES = ("age", "job", "school")
HOWS: tuple[How, ...] = ("must_rise", "must_not_fall", "only_if")


def slow_meets(how: How, cause: tuple[int, int], effect: tuple[int, int]) -> bool:
    """Return whether one cause and one effect, each before and after, keep a rule."""
    cause_rises, effect_rises, effect_falls = cause[1] > cause[0], effect[1] > effect[0], effect[1] < effect[0]
    if how == "must_rise":
        return effect_rises if cause_rises else True
    if how == "must_not_fall":
        return not effect_falls if cause_rises else True
    return cause_rises if effect_rises else True


@pytest.mark.parametrize("how", HOWS)
@given(SEEDS, st.permutations(NAMES))
def test_each_sort_of_rule_is_met_as_its_words_say(how: How, seed: int, names: list[str]) -> None:
    rng = np.random.default_rng(seed)
    before, after = (rng.integers(0, 4, (40, 3)).astype(np.int16) for _ in range(2))
    cause, effect = names[:2]
    c, e = NAMES.index(cause), NAMES.index(effect)
    expected = [
        slow_meets(how, (was[c], now[c]), (was[e], now[e]))
        for was, now in zip(before.tolist(), after.tolist(), strict=True)
    ]
    assert meets_rule(Implies(cause, effect, how), NAMES, before, after).tolist() == expected


def test_one_person_is_compared_with_a_block_of_proposals() -> None:
    before = np.array([[0, 0], [1, 1]], dtype=np.int16)
    after = np.array([[[1, 0], [1, 1]], [[1, 0], [2, 1]]], dtype=np.int16)
    met = meets_rule(Implies("a", "b"), ("a", "b"), before[:, None, :], after)
    assert met.tolist() == [[False, True], [True, False]]


def test_a_rule_does_not_bind_the_effect_alone() -> None:
    before, after = np.array([[1, 1]]), np.array([[1, 2], [1, 0], [0, 0]])
    for how in ("must_rise", "must_not_fall"):
        assert meets_rule(Implies("a", "b", how), ("a", "b"), before, after).all()


def test_an_effect_that_rises_only_if_its_cause_does_may_still_fall_alone() -> None:
    before, after = np.array([[1, 1]]), np.array([[1, 2], [1, 0], [0, 2], [2, 0]])
    met = meets_rule(Implies("a", "b", "only_if"), ("a", "b"), before, after)
    assert met.tolist() == [False, True, False, True]


def test_a_rule_is_spoken_in_one_sentence() -> None:
    assert [Implies("school", "age", how).sentence() for how in HOWS] == [
        "if school rises, age rises",
        "if school rises, age does not fall",
        "age rises only if school rises",
    ]


def test_a_rule_asks_for_a_rise_unless_it_says_otherwise() -> None:
    assert Implies("school", "age") == Implies("school", "age", "must_rise")


# Rules gathered by effect


@st.composite
def rule_sets(draw: st.DrawFn) -> tuple[list[Implies], list[str]]:
    """Rules between six features without a circle, in any order, with several of them between the same two."""
    order = draw(st.permutations("abcdef"))
    pairs = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] < pair[1])
    chosen = draw(st.lists(st.tuples(pairs, st.sampled_from(HOWS)), max_size=8))
    return [Implies(order[cause], order[effect], how) for (cause, effect), how in chosen], draw(
        st.permutations("abcdef")
    )


@given(rule_sets())
def test_every_effect_comes_once_after_all_of_its_causes(case: tuple[list[Implies], list[str]]) -> None:
    rules, names = case
    gathered = bonds(rules, names)
    effects = [names[bond.effect] for bond in gathered]
    assert sorted(effects) == sorted({rule.effect for rule in rules})
    for rule in rules:
        if rule.cause in effects:
            assert effects.index(rule.cause) < effects.index(rule.effect)


@given(rule_sets())
def test_no_rule_is_lost_or_added_when_they_are_gathered(case: tuple[list[Implies], list[str]]) -> None:
    rules, names = case
    back = [
        Implies(names[cause], names[bond.effect], how) for bond in bonds(rules, names) for cause, how in bond.causes
    ]
    assert sorted(map(repr, back)) == sorted(map(repr, rules))


def test_rules_of_one_effect_are_gathered_in_the_order_they_were_written() -> None:
    rules = [Implies("c", "a"), Implies("b", "a", "only_if"), Implies("d", "b", "must_not_fall"), Implies("b", "a")]
    assert bonds(rules, "abcd") == (
        Bond(1, ((3, "must_not_fall"),)),
        Bond(0, ((2, "must_rise"), (1, "only_if"), (1, "must_rise"))),
    )
    assert bonds([], "abcd") == ()


@given(rule_sets(), SEEDS)
def test_where_an_effect_may_go_is_where_all_of_its_rules_are_met(
    case: tuple[list[Implies], list[str]], seed: int
) -> None:
    rules, names = case
    rng = np.random.default_rng(seed)
    before, after = (rng.integers(0, 3, (2, 5, 6)) for _ in range(2))
    for bond in bonds(rules, names):
        ways = bond.may_go(after > before)
        mine = [rule for rule in rules if rule.effect == names[bond.effect]]
        for place in np.ndindex(2, 5):
            was, now = before[place].tolist(), after[place].tolist()
            for way, step in zip(ways, (-1, 0, 1), strict=True):
                expected = True
                for rule in mine:
                    cause = names.index(rule.cause)
                    expected = expected and slow_meets(rule.how, (was[cause], now[cause]), (0, step))
                assert way[place] == expected


# Circles


def slow_circle(rules: list[Implies]) -> bool:
    """Return whether some feature is reached from itself, by following rules as often as there are any."""
    reached = {(rule.cause, rule.effect) for rule in rules}
    for _ in rules:
        reached |= {(a, d) for a, b in reached for c, d in reached if b == c}
    return any(a == b for a, b in reached)


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"), st.sampled_from(HOWS)), max_size=7))
def test_a_circle_is_found_wherever_there_is_one(links: list[tuple[str, str, How]]) -> None:
    rules = [Implies(*link) for link in links]
    found = cycle(rules)
    assert bool(found) == slow_circle(rules)
    if found:
        assert found[0] == found[-1]
        assert len(set(found)) == len(found) - 1
        pairs = {(rule.cause, rule.effect) for rule in rules}
        assert all(pair in pairs for pair in pairwise(found))


@given(rule_sets())
def test_rules_that_only_go_forwards_have_no_circle(case: tuple[list[Implies], list[str]]) -> None:
    assert cycle(case[0]) == []
