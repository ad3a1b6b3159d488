"""Rows as numbers, held against a look at each pair."""

from __future__ import annotations

from itertools import combinations
from math import nan

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from l2c.core.identities import distinct, equal_among, identities


def same(a: float, b: float) -> bool:
    return bool(a == b or (np.isnan(a) and np.isnan(b)))


@given(st.lists(st.lists(st.sampled_from([0.0, -0.0, 1.5, nan]), min_size=40, max_size=40), max_size=8))
def test_equal_rows_and_no_others_share_an_identity(rows: list[list[float]]) -> None:
    table = np.array(rows).reshape(-1, 40)
    identity = identities(table.T)
    for a, b in combinations(range(len(rows)), 2):
        equal = all(same(x, y) for x, y in zip(table[a], table[b], strict=True))
        assert (identity[a] == identity[b]) == equal


def test_identities_hold_when_the_number_of_possible_rows_exceeds_an_integer() -> None:
    table = np.random.default_rng(0).permuted(np.tile(np.arange(300.0), (12, 1)), axis=1).T
    assert 300**12 > 2**64
    twice = np.concatenate([table, table])
    assert len(np.unique(identities(twice.T))) == 300
    by_row = sorted(range(300), key=lambda i: table[i].tolist())
    assert np.argsort(identities(table.T)).tolist() == by_row


CELLS = st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 1.5, nan])] * 2), max_size=20)


@given(CELLS, CELLS)
def test_equal_rows_of_another_table_are_those_that_a_list_counts(rows: list[tuple], others: list[tuple]) -> None:
    own, theirs = ([*np.array(part, dtype=float).reshape(-1, 2).T] for part in (rows, others))
    counted = equal_among(own, theirs)
    assert counted.tolist() == [sum(all(map(same, row, other)) for other in others) for row in rows]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=30))
def test_different_values_in_a_class_are_those_of_a_set(pairs: list[tuple[int, int]]) -> None:
    of, values = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    expected = [len({value for one, value in pairs if one == number}) for number in range(5)]
    assert distinct(of, values, 5).tolist() == expected
