"""Classes and what is counted over them, against loops over dictionaries."""

from __future__ import annotations

from dataclasses import astuple
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.audited import audited, slow_distance
from l2c.core import closeness
from l2c.evaluate import linkage
from l2c.evaluate.audit import Samples
from l2c.evaluate.linkage import Share

KEYS = np.array([5, 5, 7, 5, 9, 9])
ROWS = np.array([0, 0, 0, 4, 4, 4])
"""In the release: classes of 3 samples and 2 people, of 1 and 1, of 2 and 1."""

tables = st.integers(0, 40).flatmap(
    lambda rows: st.tuples(
        st.lists(st.integers(0, 6), min_size=rows, max_size=rows),
        st.lists(st.integers(0, 4), min_size=rows, max_size=rows),
        st.lists(st.integers(0, 4), min_size=rows, max_size=rows),
    )
)
"""Keys, rows and levels of a few samples."""


def grouped(keys: list[tuple[int, ...]]) -> dict[tuple[int, ...], list[int]]:
    found: dict[tuple[int, ...], list[int]] = {}
    for place, key in enumerate(keys):
        found.setdefault(key, []).append(place)
    return found


def arrays(*lists: list[int]) -> list[np.ndarray]:
    return [np.array(one, dtype=np.int64) for one in lists]


def test_a_class_counts_its_samples_and_its_people() -> None:
    found = linkage.classes(KEYS, ROWS)
    assert found.sizes.tolist() == [3, 1, 2]
    assert found.people is not None
    assert found.people.tolist() == [2, 1, 1]
    assert found.tables == 1
    assert KEYS[found.first].tolist() == [5, 7, 9]


def test_without_rows_nobody_is_counted() -> None:
    found = linkage.classes(KEYS)
    assert found.people is None
    assert linkage.share(found, found.sizes == 1) == Share(1 / 3, 1 / 6, None)
    assert linkage.mean_over_people(found, 1 / found.sizes) is None


def test_in_a_set_the_same_quasi_identifiers_of_somebody_else_are_another_class() -> None:
    found = linkage.classes_of_sets(KEYS, ROWS)
    assert (found.sizes.tolist(), found.table.tolist(), found.tables) == ([2, 1, 1, 2], [0, 0, 1, 1], 2)
    assert found.people is not None
    assert found.people.tolist() == [1, 1, 1, 1]


@given(tables)
def test_the_classes_of_any_table_are_those_of_a_dictionary(table: tuple[list[int], ...]) -> None:
    keys, rows, _ = table
    slow = grouped([(key,) for key in keys])
    found = linkage.classes(*arrays(keys, rows))
    assert found.people is not None
    assert {tuple(np.flatnonzero(found.of == one)) for one in range(len(found.sizes))} == set(map(tuple, slow.values()))
    for size, people, first in zip(found.sizes, found.people, found.first, strict=True):
        members = slow[(keys[first],)]
        assert (size, people) == (len(members), len({rows[place] for place in members}))


@given(tables)
def test_the_classes_of_sets_are_those_of_a_dictionary(table: tuple[list[int], ...]) -> None:
    keys, rows, _ = table
    slow = grouped(list(zip(rows, keys, strict=True)))
    found = linkage.classes_of_sets(*arrays(keys, rows))
    assert sorted(found.sizes) == sorted(map(len, slow.values()))
    assert found.tables == len(set(rows))
    owners = {(int(found.table[one]), rows[found.first[one]]) for one in range(len(found.sizes))}
    assert len(owners) == len(set(rows))


def test_a_share_is_the_mean_over_the_tables_and_people_are_counted_once() -> None:
    found = linkage.classes_of_sets(KEYS, ROWS)
    assert linkage.share(found, found.sizes == 1) == Share((1 / 2 + 1 / 2) / 2, (1 / 3 + 1 / 3) / 2, 1.0)


def test_a_share_among_some_classes_leaves_out_the_tables_without_any() -> None:
    found = linkage.classes_of_sets(KEYS, ROWS)
    among = np.array([True, True, False, False])
    assert linkage.share(found, found.sizes == 1, among) == Share(1 / 2, 1 / 3, 1.0)
    assert linkage.share(found, found.sizes == 1, np.zeros(4, dtype=bool)) == Share(None, None, None)


def test_nothing_is_a_share_of_no_samples() -> None:
    nobody = np.empty(0, dtype=np.int64)
    for found in (linkage.classes(nobody, nobody), linkage.classes_of_sets(nobody, nobody)):
        assert linkage.share(found, found.sizes == 1) == Share(None, None, None)
        assert linkage.smallest(found.sizes) is None
        assert linkage.mean_over_samples(found, 1 / found.sizes) is None
        assert linkage.mean_over_people(found, 1 / found.sizes) is None
        assert len(linkage.distances(found, nobody, known=3, size=3, ordered=True)) == 0
        assert found.tables == 0


@given(tables, st.randoms())
def test_the_share_of_any_classes_is_that_of_a_patient_person(table: tuple[list[int], ...], random) -> None:
    keys, rows, _ = table
    found = linkage.classes_of_sets(*arrays(keys, rows))
    exposed, among = (np.array([random.random() < 0.5 for _ in found.sizes], dtype=bool) for _ in range(2))
    classes, samples = [], []
    for row in sorted(set(rows)):
        own = [one for one in range(len(found.sizes)) if rows[found.first[one]] == row and among[one]]
        if own:
            classes.append(mean(bool(exposed[one]) for one in own))
            samples.append(sum(found.sizes[one] for one in own if exposed[one]) / sum(found.sizes[one] for one in own))
    asked = {rows[i] for i in range(len(rows)) if among[found.of[i]]}
    seen = {rows[i] for i in range(len(rows)) if among[found.of[i]] and exposed[found.of[i]]}
    expected = (
        mean(classes) if classes else None,
        mean(samples) if samples else None,
        len(seen) / len(asked) if asked else None,
    )
    assert astuple(linkage.share(found, exposed, among)) == pytest.approx(expected)


@given(tables)
def test_means_over_samples_and_over_people_are_those_of_loops(table: tuple[list[int], ...]) -> None:
    keys, rows, _ = table
    found = linkage.classes(*arrays(keys, rows))
    values = np.linspace(0.1, 0.9, len(found.sizes))
    own = [values[found.of[i]] for i in range(len(keys))]
    worst = [max(own[i] for i in range(len(keys)) if rows[i] == row) for row in set(rows)]
    assert linkage.mean_over_samples(found, values) == pytest.approx(mean(own) if own else None)
    assert linkage.mean_over_people(found, values) == pytest.approx(mean(worst) if worst else None)


# The distance of t-closeness


@given(tables, st.booleans(), st.booleans(), st.booleans())
def test_the_distance_of_any_class_is_that_of_moving_earth(
    table: tuple[list[int], ...], ordered: bool, missing: bool, sets: bool
) -> None:
    keys, rows, levels = table
    found = (linkage.classes_of_sets if sets else linkage.classes)(*arrays(keys, rows))
    apart = linkage.distances(found, *arrays(levels), known=5 - missing, size=5, ordered=ordered)
    for one, distance in enumerate(apart):
        part = [levels[i] for i in range(len(keys)) if found.of[i] == one]
        whole = [levels[i] for i in range(len(keys)) if found.table[found.of[i]] == found.table[one]]
        slow = slow_distance(part, whole, 5 - missing, 5, ordered=ordered)
        assert distance == pytest.approx(slow)
        assert -1e-12 <= distance <= 1 + 1e-12


def test_the_distances_of_many_classes_are_taken_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    found, levels = linkage.classes(rng.integers(50, size=300)), rng.integers(4, size=300)
    at_once = linkage.distances(found, levels, known=4, size=4, ordered=True)
    monkeypatch.setattr(closeness, "_BLOCK", 7)
    assert linkage.distances(found, levels, known=4, size=4, ordered=True).tolist() == at_once.tolist()


def test_the_paper_of_t_closeness_gives_these_distances() -> None:
    """Li et al. (2007), section 4: salaries 3k to 11k, of which a class holds {3, 4, 5} or {6, 8, 11}."""
    levels = np.array([0, 1, 2, 3, 5, 8, 4, 6, 7])
    found = linkage.classes(np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]))
    apart = linkage.distances(found, levels, known=9, size=9, ordered=True)
    assert apart[:2] == pytest.approx([0.375, 0.167], abs=5e-4)


def test_a_feature_with_one_level_is_never_away() -> None:
    found = linkage.classes(np.array([0, 1, 1]))
    assert linkage.distances(found, np.zeros(3, dtype=np.int64), known=1, size=1, ordered=True).tolist() == [0, 0]


def test_what_is_missing_is_as_far_as_can_be_from_every_level() -> None:
    found = linkage.classes(np.array([0, 0, 1, 1]))
    levels = np.array([3, 3, 0, 2])
    assert linkage.distances(found, levels, known=3, size=4, ordered=True) == pytest.approx([0.5, 0.5])


@given(audited)
def test_no_class_is_larger_in_a_set_than_in_the_release(samples: Samples) -> None:
    keys = samples.levels[:, 1].astype(np.int64)
    assert samples.row is not None
    whole, sets = linkage.classes(keys, samples.row), linkage.classes_of_sets(keys, samples.row)
    assert (sets.sizes[sets.of] <= whole.sizes[whole.of]).all()
