"""A policy over classes, against loops over dictionaries."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.audited import slow_distance
from l2c.core.coarse import ladder
from l2c.core.feature import Feature
from l2c.core.layout import Layout, categorical_axis
from l2c.core.schema import Schema
from l2c.release.policy import Crowd, Policy, kept, kept_by_steps
from tables import numeric_axis


def layout_of() -> Layout:
    """Return a layout of two quasi-identifiers, two sensitive features and a plain one."""
    features = (
        Feature(name="age", kind="numeric", role="quasi", missing=True),
        Feature(name="job", kind="categorical", levels=tuple("abc"), role="quasi"),
        Feature(name="debt", kind="ordinal", levels=tuple("lmh"), role="sensitive", missing=True),
        Feature(name="faith", kind="categorical", levels=tuple("wxyz"), role="sensitive"),
        Feature(name="phone", kind="binary", levels=(False, True)),
    )
    axes = (
        numeric_axis((20.0, 30.0, 40.0), low=0.0, high=99.0, missing=True),
        *(categorical_axis(feature) for feature in features[1:]),
    )
    return Layout(Schema(features), axes)


LAYOUT = layout_of()


def random_rows(seed: int, count: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of a few people: whose each is, its levels and its class."""
    rng = np.random.default_rng(seed)
    levels = np.stack([rng.integers(0, size, count) for size in LAYOUT.sizes], axis=1).astype(np.int16)
    levels[:, 0] = np.where(rng.random(count) < 0.6, 1, levels[:, 0])
    return rng.integers(0, 4, count), levels, rng.integers(0, 2, count)


policies = st.builds(
    Policy,
    st.just(LAYOUT),
    k=st.integers(1, 5),
    l=st.none() | st.integers(1, 3),
    t=st.none() | st.floats(0.05, 0.8),
    scope=st.sampled_from(["set", "release"]),
)


def slow_classes(policy, row, levels, label):
    """Return the places of each class, by table and key."""
    found = defaultdict(lambda: defaultdict(list))
    for place in range(len(row)):
        key = (*levels[place, :2].tolist(), int(label[place]))
        found[int(row[place]) if policy.scope == "set" else 0][key].append(place)
    return found


def slow_met(policy, row, levels, places):
    size = len({int(row[place]) for place in places}) if policy.count == "people" else len(places)
    values = [len({int(levels[place, i]) for place in places}) for i in (2, 3)]
    return size >= policy.k and (policy.l is None or min(values) >= policy.l)


def slow_apart(levels, places, whole):
    part, every = (levels[some] for some in (places, whole))
    debt = slow_distance(part[:, 2].tolist(), every[:, 2].tolist(), 3, 4, ordered=True)
    return max(debt, slow_distance(part[:, 3].tolist(), every[:, 3].tolist(), 4, 4, ordered=False))


@given(policies, st.integers(0, 10**6), st.booleans())
def test_what_may_leave_keeps_the_policy_and_nothing_is_taken_without_need(policy, seed, people):
    if people and policy.scope == "release":
        policy = replace(policy, count="people")
    row, levels, label = random_rows(seed)
    left = kept(policy, row, levels, label)
    for classes in slow_classes(policy, row, levels, label).values():
        good = [places for places in classes.values() if slow_met(policy, row, levels, places)]
        assert all(not left[places].any() for places in classes.values() if places not in good)
        assert all(left[places].all() or not left[places].any() for places in classes.values())
        stay = [places for places in good if left[places].all()]
        whole = [place for places in stay for place in places]
        if policy.t is None:
            assert stay == good
        else:
            assert all(slow_apart(levels, places, whole) <= policy.t + 1e-9 for places in stay)
            assert stay or not good


@given(st.integers(0, 10**6), st.booleans())
def test_a_population_is_looked_up_by_level(seed, labelled):
    rng = np.random.default_rng(seed)
    row, levels, label = random_rows(seed, 20)
    people = rng.integers(0, 4, (30, 2)).astype(np.int16)
    theirs = rng.integers(0, 2, 30)
    crowd = Crowd(people, theirs if labelled else None)
    slow = [
        sum((levels[i, :2] == people[j]).all() and (not labelled or label[i] == theirs[j]) for j in range(30))
        for i in range(20)
    ]
    assert crowd.matches(levels[:, :2], label).tolist() == slow
    policy = Policy(LAYOUT, 1, k_map=3, crowd=crowd)
    assert kept(policy, row, levels, label).tolist() == [one == 0 or one >= 3 for one in slow]


def test_a_population_is_linked_in_the_levels_that_are_told():
    merged = ladder(LAYOUT)[1]
    levels = np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0]], dtype=np.int16)
    crowd = Crowd(np.array([[0, 0], [2, 0]], dtype=np.int16))
    policy = Policy(LAYOUT, 1, k_map=2, crowd=crowd)
    row, label = np.array([0, 0]), np.array([1, 1])
    assert kept(policy, row, levels, label).tolist() == [False, True]
    assert kept(replace(policy, merged=merged), row, levels, label).tolist() == [False, False]


def test_no_rows_at_all_leave_none():
    policy = Policy(LAYOUT, 3, l=2, t=0.2, k_map=2, crowd=Crowd(np.zeros((2, 2), dtype=np.int16)))
    nothing = np.empty(0, dtype=np.int64)
    assert kept(policy, nothing, np.empty((0, 5), dtype=np.int16), nothing).tolist() == []


def test_more_combinations_than_a_number_holds_are_told_apart_too():
    count = 40
    features = tuple(Feature(name=f"f{i}", kind="ordinal", levels=tuple(range(4)), role="quasi") for i in range(count))
    layout = Layout(Schema(features), tuple(categorical_axis(feature) for feature in features))
    levels = np.zeros((4, count), dtype=np.int16)
    levels[1, 0], levels[2, -1] = 1, 1
    policy = Policy(layout, 2)
    nobody = np.zeros(4, dtype=np.int64)
    assert kept(policy, nobody, levels, nobody).tolist() == [True, False, False, True]


def test_people_who_are_told_coarsely_are_counted_so():
    levels = np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0]] * 2, dtype=np.int16)
    row, label = np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64)
    policy = Policy(LAYOUT, 2, generalise=True)
    assert kept_by_steps(policy, np.array([0, 1]), row, levels, label).tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Policy(LAYOUT, 5, l=2), "k = 5, l = 2"),
        (Policy(LAYOUT, 2, t=0.25, k_map=3), "k = 2, t = 0.25, k_map = 3"),
        (Policy(LAYOUT, 5, scope="release", count="people"), "k = 5 people"),
    ],
)
def test_a_policy_is_told_in_short(policy, words):
    assert policy.words == words
