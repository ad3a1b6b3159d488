"""CatBoost, by its classifier and by bare models, with categories of its own: the same answers as the library's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catboost import CatBoost, CatBoostClassifier, CatBoostRegressor

from adapters.models.people import DECLARED, GAPS, KINDS, LATE, NUMBERS, TEXTS, THIRDS, WORDS, answers_as, box_of
from l2c.errors import InputError, ModelError

SMALL = {"iterations": 4, "depth": 3, "verbose": False, "allow_writing_files": False, "thread_count": 1}
CATEGORIES = ["job", "school"]


def classifier(frame: Any, labels: Any = LATE, categories: Any = CATEGORIES) -> CatBoostClassifier:
    return CatBoostClassifier(cat_features=categories, **SMALL).fit(frame, labels)


def bare(frame: Any, loss: str, labels: Any) -> CatBoost:
    return CatBoost({"loss_function": loss, "cat_features": CATEGORIES, **SMALL}).fit(frame, labels)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("labels", "classes"),
    [(LATE, (False, True)), (LATE.astype(int), (0, 1)), (WORDS, ("late", "paid")), (THIRDS, (0, 1, 2))],
    ids=["bool", "int", "str", "three"],
)
@pytest.mark.parametrize("frame", [TEXTS, DECLARED], ids=["texts", "declared"])
def test_a_classifier_answers_cells_as_it_answers_the_frame(frame, labels, classes, kind):
    model = classifier(frame, labels)
    blackbox = answers_as(model, KINDS[kind](frame), model.predict_proba(frame))
    assert blackbox.classes == classes
    assert [type(label) for label in blackbox.classes] == [type(label) for label in classes]


@pytest.mark.parametrize("kind", KINDS)
def test_booleans_and_whole_numbers_may_be_categories_and_numbers_may_be_missing(kind):
    frame = TEXTS.assign(**{"the debt": GAPS["the debt"]})
    model = classifier(frame, categories=["age", "job", "school", "married"])
    answers_as(model, KINDS[kind](frame), model.predict_proba(frame))


def test_columns_are_found_by_name_whatever_their_order():
    model = classifier(NUMBERS, categories=[])
    answers_as(model, NUMBERS[["the debt", "age"]], model.predict_proba(NUMBERS))
    model = classifier(TEXTS)
    answers_as(model, TEXTS[TEXTS.columns[::-1]], model.predict_proba(TEXTS))


@pytest.mark.parametrize(
    ("loss", "labels", "classes"),
    [
        ("Logloss", LATE, (False, True)),
        ("Logloss", WORDS, ("late", "paid")),
        ("CrossEntropy", LATE * 0.8, (0, 1)),
        ("MultiClass", THIRDS, (0, 1, 2)),
    ],
)
def test_a_bare_model_answers_with_the_probabilities_of_the_classes_that_it_remembers(loss, labels, classes):
    model = bare(TEXTS, loss, labels)
    blackbox = answers_as(model, TEXTS, model.predict(TEXTS, prediction_type="Probability"))
    assert blackbox.classes == classes


def test_classes_that_were_learned_each_by_itself_are_made_to_add_to_1():
    model = bare(TEXTS, "MultiClassOneVsAll", np.array(["a", "b", "c"])[THIRDS])
    raw = model.predict(TEXTS, prediction_type="Probability")
    assert np.abs(raw.sum(axis=1) - 1).max() > 0.01
    blackbox = answers_as(model, TEXTS, raw / raw.sum(axis=1, keepdims=True))
    labels = model.predict(TEXTS, prediction_type="Class")[:, 0]
    assert [blackbox.classes[place] for place in raw.argmax(axis=1)] == labels.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_was_trained_on_an_array_gets_the_frames_order(kind):
    model = classifier(NUMBERS.to_numpy(), categories=[])
    answers_as(model, KINDS[kind](NUMBERS), model.predict_proba(NUMBERS.to_numpy()))


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_category_is_refused_with_what_to_do(kind):
    texts = TEXTS.assign(job=TEXTS["job"].mask(TEXTS["age"] > 0))
    texts.loc[9:, "job"] = TEXTS["job"]
    with pytest.raises(ModelError) as caught:
        box_of(classifier(TEXTS), KINDS[kind](texts))
    assert str(caught.value) == (
        "CatBoost takes no missing value in the categorical column 'job': fill it in with the word that the model was "
        "trained with, or give a function that does"
    )


def test_what_is_no_classifier_is_refused():
    for model in (
        bare(TEXTS, "RMSE", LATE * 1.0),
        CatBoostRegressor(cat_features=CATEGORIES, **SMALL).fit(TEXTS, LATE),
    ):
        with pytest.raises(InputError) as caught:
            box_of(model, TEXTS)
        assert str(caught.value) == "the CatBoost model is no classifier: its loss is RMSE"


def test_a_model_that_was_not_fitted_is_refused():
    with pytest.raises(ModelError) as caught:
        box_of(CatBoostClassifier(), NUMBERS)
    assert str(caught.value) == "CatBoostClassifier has no classes_: fit it before it is explained"


def test_a_column_that_the_schema_lacks_is_named():
    with pytest.raises(InputError) as caught:
        box_of(classifier(TEXTS), TEXTS.drop(columns="job"))
    assert str(caught.value) == "the CatBoost model was trained on a column 'job' that the schema does not have"
