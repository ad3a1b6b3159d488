"""Functions that answer with labels, and how they are told from those that answer with probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from adapters.models.people import NUMBERS, answers_as, box_of, cells_of, hot
from l2c.errors import ModelError

OLD = (NUMBERS["age"] > 40).to_numpy()
AGE_GROUP = np.digitize(NUMBERS["age"], [35, 60])


def old(frame: Any) -> np.ndarray:
    return np.asarray(frame["age"]) > 40


def named(function: Callable[[Any], object], *classes: object) -> Callable[[Any], object]:
    function.classes = classes
    return function


def refusal(model: object) -> str:
    with pytest.raises(ModelError) as caught:
        box_of(model, NUMBERS)
    return str(caught.value)


@pytest.mark.parametrize(
    "answer",
    [
        lambda frame: old(frame),
        lambda frame: old(frame).tolist(),
        lambda frame: old(frame)[:, None],
        lambda frame: pd.Series(old(frame)),
        lambda frame: pd.Series(old(frame), dtype=object),
        lambda frame: pl.Series(old(frame)),
    ],
    ids=["array", "list", "column", "series", "objects", "polars"],
)
def test_booleans_are_labels(answer):
    blackbox = answers_as(answer, NUMBERS, hot(OLD, (False, True)), atol=0)
    assert blackbox.classes == (False, True)
    assert [type(label) for label in blackbox.classes] == [bool, bool]
    assert blackbox.labels_only


@pytest.mark.parametrize(
    "answer",
    [
        lambda frame: np.where(old(frame), "old", "young"),
        lambda frame: np.where(old(frame), "old", "young").tolist(),
        lambda frame: np.where(old(frame), "old", "young").astype(object),
        lambda frame: pd.Series(np.where(old(frame), "old", "young")),
        lambda frame: pd.Series(np.where(old(frame), "old", "young")).astype("category"),
        lambda frame: pl.Series(np.where(old(frame), "old", "young").tolist()),
    ],
    ids=["array", "list", "objects", "series", "category", "polars"],
)
def test_texts_are_labels_of_the_classes_that_are_named(answer):
    blackbox = answers_as(named(answer, "young", "old", "dead"), NUMBERS, hot(~OLD, (True, False, None)), atol=0)
    assert blackbox.classes == ("young", "old", "dead")
    assert blackbox.labels_only


def test_texts_without_named_classes_are_refused_for_a_few_rows_do_not_show_them_all():
    assert refusal(lambda frame: np.where(old(frame), "old", "young")) == (
        "the model answers with labels, and a few rows need not show them all: "
        "name every label in an attribute of the function, as in model.classes = ('bad', 'good')"
    )


@pytest.mark.parametrize(
    "answer",
    [lambda frame: old(frame).astype(int), lambda frame: torch.tensor(old(frame)).int()],
    ids=["array", "tensor"],
)
def test_arrays_of_0_and_1_are_labels(answer):
    blackbox = answers_as(answer, NUMBERS, hot(OLD, (False, True)), atol=0)
    assert blackbox.classes == (0, 1)
    assert blackbox.labels_only


def test_other_whole_numbers_need_named_classes():
    def model(frame: Any) -> np.ndarray:
        return np.digitize(frame["age"], [35, 60])

    assert refusal(model).startswith("the model answers with labels, and a few rows need not show them all")
    blackbox = answers_as(named(model, 2, 1, 0), NUMBERS, hot(AGE_GROUP, (2, 1, 0)), atol=0)
    assert blackbox.classes == (2, 1, 0)


def test_whole_numbers_are_the_places_of_classes_that_are_texts():
    model = named(lambda frame: np.digitize(frame["age"], [35, 60]), "young", "middle", "old")
    assert answers_as(model, NUMBERS, hot(AGE_GROUP, (0, 1, 2)), atol=0).classes == ("young", "middle", "old")


@pytest.mark.parametrize("sure", [[0, 1], [0.0, 1.0]])
def test_a_list_of_numbers_and_an_array_of_fractions_are_probabilities_even_if_all_are_0_or_1(sure):
    def model(frame: Any) -> list[float]:
        return [sure[int(each)] for each in old(frame)]

    assert not answers_as(model, NUMBERS, hot(OLD, (False, True)), atol=0).labels_only
    assert not box_of(lambda frame: np.array(model(frame), dtype=float), NUMBERS).labels_only


def test_a_function_that_sometimes_answers_with_a_list_of_whole_numbers_keeps_its_probabilities():
    def model(frame: Any) -> list[float]:
        return [1] * len(frame) if len(frame) == 2 else [0.25] * len(frame)

    blackbox = box_of(model, NUMBERS)
    assert blackbox.proba(cells_of(NUMBERS)[:2]).tolist() == [[0, 1], [0, 1]]


def test_a_function_that_changes_from_labels_to_probabilities_is_refused():
    def model(frame: Any) -> np.ndarray:
        return old(frame) if len(frame) < 10 else old(frame) * 0.5

    blackbox = box_of(model, NUMBERS)
    with pytest.raises(ModelError) as caught:
        blackbox.proba(cells_of(NUMBERS))
    assert str(caught.value) == "the model answered with labels before, and now with something else"


def test_a_label_that_was_not_named_is_refused():
    told = refusal(named(lambda frame: np.where(old(frame), "old", "young"), "young", "ancient"))
    assert told == f"the model's label for row {OLD.argmax()}, 'old', is none of its classes: 'young', 'ancient'"


def test_a_missing_label_is_refused():
    told = refusal(named(lambda frame: np.where(old(frame), "old", None), "young", "old"))
    assert told.startswith("the model answered with no array of numbers")


def test_too_few_labels_are_refused():
    told = refusal(lambda frame: old(frame)[:3])
    assert told == "the model answered 8 rows with shape (3, 2); expected 8 rows of 2 classes"


def test_no_rows_have_no_labels():
    blackbox = box_of(lambda frame: old(frame).tolist(), NUMBERS)
    assert blackbox.proba(cells_of(NUMBERS)[:0]).shape == (0, 2)
