"""Rules between two features."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.rules import Implies, meets_rule
from tables import SEEDS

NAMES = ("age", "job", "school")


@given(SEEDS, st.permutations(NAMES))
def test_if_the_cause_rises_the_effect_must_rise_strictly(seed, names):
    rng = np.random.default_rng(seed)
    before, after = (rng.integers(0, 4, (40, 3)).astype(np.int16) for _ in range(2))
    cause, effect = names[:2]
    expected = []
    for was, now in zip(before.tolist(), after.tolist(), strict=True):
        c, e = NAMES.index(cause), NAMES.index(effect)
        expected.append(now[e] > was[e] if now[c] > was[c] else True)
    assert meets_rule(Implies(cause, effect), NAMES, before, after).tolist() == expected


def test_one_person_is_compared_with_a_block_of_proposals():
    before = np.array([[0, 0], [1, 1]], dtype=np.int16)
    after = np.array([[[1, 0], [1, 1]], [[1, 0], [2, 1]]], dtype=np.int16)
    met = meets_rule(Implies("a", "b"), ("a", "b"), before[:, None, :], after)
    assert met.tolist() == [[False, True], [True, False]]


def test_a_rule_does_not_bind_the_effect_alone():
    before, after = np.array([[1, 1]]), np.array([[1, 2], [1, 0], [0, 0]])
    assert meets_rule(Implies("a", "b"), ("a", "b"), before, after).all()


def test_a_rule_is_spoken_in_one_sentence():
    assert Implies("school", "age").sentence() == "if school rises, age rises"
