"""Fayyad and Irani's cuts, against the formula written out with loops."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.engine.minimal_entropy import gaps, minimal_entropy_cuts

Pairs = Sequence[tuple[float, int]]


def entropy(pairs: Pairs) -> float:
    counts = Counter(label for _, label in pairs)
    return -sum(count / len(pairs) * math.log2(count / len(pairs)) for count in counts.values())


def left_over(pairs: Pairs, cut: float) -> float:
    below = [pair for pair in pairs if pair[0] <= cut]
    above = [pair for pair in pairs if pair[0] > cut]
    return (len(below) * entropy(below) + len(above) * entropy(above)) / len(pairs)


def slow_cuts(pairs: Pairs) -> list[float]:
    values = sorted({value for value, _ in pairs})
    candidates = [(a + b) / 2 for a, b in pairwise(values)]
    if not candidates:
        return []
    least = min(left_over(pairs, cut) for cut in candidates)
    cut = next(cut for cut in candidates if left_over(pairs, cut) <= least + 1e-12)
    below = [pair for pair in pairs if pair[0] <= cut]
    above = [pair for pair in pairs if pair[0] > cut]
    n = len(pairs)
    k, k1, k2 = (len({label for _, label in part}) for part in (pairs, below, above))
    gain = entropy(pairs) - left_over(pairs, cut)
    delta = math.log2(3**k - 2) - (k * entropy(pairs) - k1 * entropy(below) - k2 * entropy(above))
    if gain <= math.log2(n - 1) / n + delta / n:
        return []
    return [*slow_cuts(below), cut, *slow_cuts(above)]


def fast_cuts(pairs: Pairs) -> list[float]:
    values, classes = zip(*pairs, strict=True)
    return list(minimal_entropy_cuts(np.array(values, dtype=np.float64), np.array(classes, dtype=np.int64)))


@given(st.lists(st.tuples(st.integers(0, 12).map(float), st.integers(0, 2)), min_size=1, max_size=40))
def test_the_cuts_are_those_of_the_published_formula(pairs):
    assert fast_cuts(pairs) == slow_cuts(pairs)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_nested_cuts_are_those_of_the_published_formula(classes):
    rng = np.random.default_rng(classes)
    values = rng.integers(0, 60, 400)
    noisy = np.where(rng.random(400) < 0.1, rng.integers(0, classes, 400), values // 9 % classes)
    pairs = [(float(value), int(label)) for value, label in zip(values, noisy, strict=True)]
    cuts = fast_cuts(pairs)
    assert cuts == slow_cuts(pairs)
    assert len(cuts) > 2


def test_a_cut_that_separates_two_classes_is_found_between_them():
    assert fast_cuts([(1.0, 0)] * 10 + [(4.0, 1)] * 10) == [2.5]


def test_classes_that_do_not_depend_on_the_value_give_no_cut():
    assert fast_cuts([(float(i), i % 2) for i in range(100)]) == []


@pytest.mark.parametrize("pairs", [[(1.0, 0)], [(1.0, 0), (1.0, 1)] * 5, [(1.0, 1), (2.0, 1), (3.0, 1)]])
def test_a_single_row_a_constant_column_and_a_single_class_give_no_cut(pairs):
    assert fast_cuts(pairs) == []


def test_the_order_of_the_rows_does_not_matter():
    rng = np.random.default_rng(0)
    values, classes = rng.normal(size=200), rng.integers(0, 2, 200)
    classes = np.where(values > 0.3, 1, classes)
    shuffled = rng.permutation(200)
    cuts = minimal_entropy_cuts(values, classes)
    assert minimal_entropy_cuts(values[shuffled], classes[shuffled]) == cuts != ()


def test_thousands_of_cuts_that_each_peel_off_one_end_are_found():
    blocks = 2500
    values = np.repeat(np.arange(float(blocks)), 40)
    assert len(minimal_entropy_cuts(values, np.repeat(np.arange(blocks) % 2, 40))) == blocks - 1


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=10, unique=True))
def test_a_gap_is_cut_at_or_above_its_lower_and_below_its_upper_value(values):
    distinct = np.unique(np.array(values))
    cuts = gaps(distinct)
    assert np.all(distinct[:-1] <= cuts)
    assert np.all(cuts < distinct[1:])


def test_the_gap_between_two_neighbouring_floats_is_cut_at_the_lower():
    odd = 1 + np.finfo(np.float64).eps
    assert gaps(np.array([odd, np.nextafter(odd, 2)])).tolist() == [odd]
