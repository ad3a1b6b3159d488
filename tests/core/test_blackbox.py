"""What a model's answer must be, and what it means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from l2c.core.blackbox import checked, decide, puts_in
from l2c.errors import ModelError

# Multiples of a quarter: ties happen.
ANSWERS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(2, 4)),
    elements=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
)


@given(ANSWERS, st.data())
def test_a_row_is_put_in_a_class_only_if_that_class_is_above_every_other(proba, data):
    rows, classes = proba.shape
    desired = np.array(data.draw(st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows)))
    expected = []
    for row, wanted in zip(proba.tolist(), desired.tolist(), strict=True):
        expected.append(all(row[wanted] > rival for c, rival in enumerate(row) if c != wanted))
    assert puts_in(proba, desired).tolist() == expected


@given(ANSWERS)
def test_the_decision_is_the_first_of_the_most_probable_classes(proba):
    assert decide(proba).tolist() == [row.index(max(row)) for row in proba.tolist()]


def test_a_tie_between_two_of_three_classes_is_not_enough_for_either():
    proba = np.array([[0.4, 0.4, 0.2]] * 3)
    assert not puts_in(proba, np.array([0, 1, 2])).any()


def test_judging_does_not_change_the_answer_it_was_given():
    proba = np.array([[0.3, 0.7]])
    puts_in(proba, np.array([1]))
    assert proba.tolist() == [[0.3, 0.7]]


def test_an_answer_of_lists_or_single_precision_becomes_double():
    single = np.array([[0.1, 0.9]], dtype=np.float32)
    assert checked(single, rows=1, classes=2).dtype == np.float64
    assert checked([[0.25, 0.75]], rows=1, classes=2).tolist() == [[0.25, 0.75]]


def test_an_answer_may_miss_one_by_the_rounding_of_single_precision_only():
    assert checked([[0.2, 0.8005]], rows=1, classes=2).tolist() == [[0.2, 0.8005]]
    with pytest.raises(ModelError, match="do not add to 1"):
        checked([[0.2, 0.802]], rows=1, classes=2)


@pytest.mark.parametrize(
    ("answer", "rows", "words"),
    [
        (
            [0.2, 0.8],
            2,
            "the model answered 2 rows with shape (2,); expected 2 rows of 2 classes",
        ),
        (
            [[0.2, 0.8]],
            2,
            "the model answered 2 rows with shape (1, 2); expected 2 rows of 2 classes",
        ),
        (
            [[0.2, 0.3, 0.5]],
            1,
            "the model answered 1 rows with shape (1, 3); expected 1 rows of 2 classes",
        ),
        ([[0.2, 0.8], [np.nan, 1.0]], 2, "the model answered NaN for row 1"),
        ([[0.2, 0.8], [-0.1, 1.1]], 2, "the model's answer for row 1 is no probability: it is outside 0 to 1"),
        ([[0.2, np.inf]], 1, "the model's answer for row 0 is no probability: it is outside 0 to 1"),
        ([[0.2, 0.8], [0.2, 0.2]], 2, "the model's probabilities do not add to 1: row 1 adds to 0.4"),
    ],
)
def test_a_broken_promise_is_named_with_its_row(answer, rows, words):
    with pytest.raises(ModelError) as caught:
        checked(answer, rows=rows, classes=2)
    assert str(caught.value) == words


@pytest.mark.parametrize("answer", [["good", "bad"], [[0.2, 0.8], [1.0]], [{"good": 1.0}]])
def test_an_answer_that_is_no_array_of_numbers_is_refused_in_words(answer):
    with pytest.raises(ModelError, match=r"^the model answered with no array of numbers: "):
        checked(answer, rows=2, classes=2)
