"""The three attackers, the population and the training rows, against loops."""

from __future__ import annotations

from dataclasses import astuple
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.audited import same_value
from l2c.evaluate import attacks, linkage
from l2c.evaluate.attacks import Anonymity, Copies, KMap
from l2c.evaluate.linkage import Share

FOUND = linkage.classes(np.array([5, 5, 7, 5, 9, 9]), np.array([0, 0, 0, 4, 4, 4]))
"""Classes of 3 samples and 2 people, of 1 and 1, of 2 and 1."""

NOTHING = Share(None, None, None)
NOBODY = np.empty(0, dtype=np.int64)


def test_by_samples_a_class_of_two_hides_its_members() -> None:
    assert attacks.by_samples(FOUND) == Anonymity(1, Share(1 / 3, 1 / 6, 1 / 2), 1.0, pytest.approx(3 / 6))


def test_by_people_two_samples_of_one_person_hide_nobody() -> None:
    assert attacks.by_people(FOUND) == Anonymity(1, Share(2 / 3, 3 / 6, 1.0), 1.0, 1.0)


def test_the_marketer_expects_one_right_guess_in_every_class() -> None:
    found = linkage.classes(np.array([1, 1, 1, 1, 2, 2]))
    assert attacks.by_samples(found).marketer == pytest.approx(2 / 6)
    assert attacks.by_samples(found).prosecutor == 1 / 2


def test_a_person_is_as_exposed_as_their_most_exposed_sample() -> None:
    found = linkage.classes(np.array([1, 1, 1, 2, 2, 3]), np.array([0, 1, 2, 0, 1, 0]))
    counted = attacks.by_people(found)
    assert counted is not None
    assert counted.marketer == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_without_rows_there_are_no_people_to_count() -> None:
    assert attacks.by_people(linkage.classes(np.array([1, 1]))) is None


def test_an_empty_release_exposes_nobody() -> None:
    found = linkage.classes(NOBODY, NOBODY)
    assert attacks.by_samples(found) == attacks.by_people(found) == Anonymity(None, NOTHING, None, None)
    assert attacks.k_map(found, NOBODY) == KMap(None, NOTHING, NOTHING, NOTHING, None, None, None)
    assert attacks.copies(found, NOBODY == 1, NOBODY == 1) == Copies(0, None, None, 0)


def test_the_journalist_looks_at_the_classes_that_match() -> None:
    figures = attacks.k_map(FOUND, np.array([4, 1, 0]))
    assert (figures.k, figures.journalist) == (1, 1.0)
    assert figures.matched == Share(pytest.approx(2 / 3), pytest.approx(4 / 6), 1.0)
    assert figures.one == Share(1 / 3, 1 / 6, 1 / 2)
    assert figures.one_of_matched == Share(1 / 2, 1 / 4, 1 / 2)
    assert figures.marketer == pytest.approx((3 / 4 + 1) / 6)
    assert figures.marketer_people == pytest.approx((1 + 1 / 4) / 2)


def test_no_match_is_not_applicable_and_not_safe() -> None:
    figures = attacks.k_map(FOUND, np.array([0, 0, 0]))
    assert figures == KMap(None, Share(0.0, 0.0, 0.0), NOTHING, NOTHING, None, None, None)


def test_matches_without_a_single_one_are_none_found() -> None:
    figures = attacks.k_map(FOUND, np.array([2, 3, 0]))
    assert (figures.k, figures.one) == (2, Share(0.0, 0.0, 0.0))


def test_in_sets_matches_are_averaged_over_the_sets() -> None:
    found = linkage.classes_of_sets(np.array([5, 5, 7, 5]), np.array([0, 0, 0, 4]))
    figures = attacks.k_map(found, np.array([1, 0, 1]))
    assert figures.one == Share((1 / 2 + 1) / 2, pytest.approx((2 / 3 + 1) / 2), 1.0)
    assert figures.one_of_matched == Share(1.0, 1.0, 1.0)


cells = st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 1.5, float("nan")])] * 2), max_size=20)


@given(cells, cells)
def test_matching_rows_are_those_that_a_list_counts(rows: list[tuple[float, ...]], others: list[tuple[float, ...]]):
    said = [tuple(map(same_value, row)) for row in others]
    table, population = (np.array(part, dtype=float).reshape(-1, 2) for part in (rows, others))
    counted = attacks.matching_rows(table, population)
    assert counted.tolist() == [said.count(tuple(map(same_value, row))) for row in rows]


def test_copies_are_counted_by_sample_and_by_person() -> None:
    equal = np.array([True, True, False, False, False, False])
    assert attacks.copies(FOUND, equal, None) == Copies(2, pytest.approx(2 / 6), 1 / 2, None)
    assert attacks.copies(linkage.classes(np.array([1, 2])), np.array([False, True]), np.array([False, False])) == (
        Copies(1, 1 / 2, None, 0)
    )


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=40))
def test_risks_of_any_release_are_those_of_loops(members: list[tuple[int, int]]) -> None:
    keys, rows = (np.array(part) for part in zip(*members, strict=True))
    sizes = [sum(key == other for other, _ in members) for key, _ in members]
    crowds = [len({row for other, row in members if key == other}) for key, _ in members]
    found = linkage.classes(keys, rows)
    samples, people = attacks.by_samples(found), attacks.by_people(found)
    assert people is not None
    assert (samples.k, people.k) == (min(sizes), min(crowds))
    assert samples.prosecutor == pytest.approx(max(1 / size for size in sizes))
    assert samples.marketer == pytest.approx(mean(1 / size for size in sizes))
    worst = {row: max(1 / crowd for crowd, (_, other) in zip(crowds, members, strict=True) if other == row)
             for _, row in members}  # fmt: skip
    assert people.prosecutor == pytest.approx(max(worst.values()))
    assert people.marketer == pytest.approx(mean(worst.values()))
    assert astuple(people.one)[2] == pytest.approx(mean(one == 1 for one in worst.values()))
