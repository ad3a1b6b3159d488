"""scikit-learn's classifiers: what they answer on a frame is what L2C sees, with probabilities or with labels alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from adapters.models.people import DECLARED, GAPS, KINDS, LATE, NUMBERS, TEXTS, THIRDS, WORDS, answers_as, box_of, hot
from l2c.adapters.models import differentiable
from l2c.errors import InputError, ModelError

LABELS = [(LATE, (False, True)), (LATE.astype(int), (0, 1)), (WORDS, ("late", "paid")), (THIRDS, (0, 1, 2))]


def prepared(last: Any) -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers, ["age", "the debt"]), (OneHotEncoder(), ["job", "school"]), remainder="passthrough"
    )
    return make_pipeline(columns, last)


def boosting() -> Any:
    return HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")


@pytest.mark.parametrize(("labels", "classes"), LABELS, ids=["bool", "int", "str", "three"])
@pytest.mark.parametrize(
    ("model", "frame"),
    [
        (prepared(RandomForestClassifier(5, random_state=0)), TEXTS),
        (prepared(LogisticRegression()), GAPS),
        (CalibratedClassifierCV(prepared(SVC()), cv=2), TEXTS),
        (boosting(), DECLARED),
        (boosting(), GAPS),
    ],
    ids=["forest", "gaps", "calibrated", "boosting", "boosting with gaps"],
)
def test_a_classifier_answers_cells_as_it_answers_the_frame(model, frame, labels, classes):
    blackbox = answers_as(model.fit(frame, labels), frame, model.predict_proba(frame))
    assert blackbox.classes == classes
    assert [type(label) for label in blackbox.classes] == [type(label) for label in classes]
    assert not blackbox.labels_only


@pytest.mark.parametrize("kind", ["polars", "arrow"])
@pytest.mark.parametrize(
    ("model", "frame"), [(prepared(LogisticRegression()), TEXTS), (boosting(), GAPS)], ids=["pipeline", "boosting"]
)
def test_a_classifier_is_asked_through_other_kinds_of_frame(model, frame, kind):
    model.fit(frame, LATE)
    answers_as(model, KINDS[kind](frame), model.predict_proba(frame))


@pytest.mark.parametrize("model", [prepared(LogisticRegression()), boosting()], ids=["pipeline", "boosting"])
def test_columns_are_found_by_name_whatever_their_order(model):
    model.fit(DECLARED, LATE)
    answers_as(model, DECLARED[DECLARED.columns[::-1]], model.predict_proba(DECLARED))


def test_a_model_trained_on_declared_categories_takes_texts_too():
    model = boosting().fit(DECLARED, LATE)
    answers_as(model, TEXTS, model.predict_proba(DECLARED))


@pytest.mark.parametrize(("labels", "classes"), LABELS, ids=["bool", "int", "str", "three"])
@pytest.mark.parametrize(
    "model",
    [
        prepared(LinearSVC()),
        prepared(RidgeClassifier()),
        prepared(SVC()),
        GridSearchCV(prepared(RidgeClassifier()), {"ridgeclassifier__alpha": [0.1, 1.0]}, cv=2),
    ],
    ids=["LinearSVC", "RidgeClassifier", "SVC", "search"],
)
def test_a_classifier_without_probabilities_answers_with_the_class_that_it_names(model, labels, classes):
    model.fit(TEXTS, labels)
    blackbox = answers_as(model, TEXTS, hot(model.predict(TEXTS), classes), atol=0)
    assert blackbox.classes == classes
    assert blackbox.labels_only


def test_a_classifier_without_probabilities_that_was_fitted_on_an_array_gets_an_array():
    model = LinearSVC().fit(NUMBERS.to_numpy(), WORDS)
    answers_as(model, NUMBERS, hot(model.predict(NUMBERS.to_numpy()), ("late", "paid")), atol=0)


def test_labels_have_no_differentiable_twin():
    blackbox = box_of(LinearSVC().fit(NUMBERS, LATE), NUMBERS)
    # It is not even asked for: neither layout nor rows are looked at.
    assert differentiable(blackbox, None, None) is None


@pytest.mark.parametrize("model", [LinearSVC(), LinearRegression().fit(NUMBERS, LATE)], ids=["unfitted", "regression"])
def test_what_predicts_but_has_no_classes_is_refused(model):
    with pytest.raises(InputError) as caught:
        box_of(model, NUMBERS)
    name = type(model).__name__
    assert str(caught.value) == f"{name} has predict, but no classes_: expected a classifier that is fitted"


def test_several_targets_at_once_are_refused():
    model = MultiOutputClassifier(LogisticRegression()).fit(NUMBERS, np.column_stack([LATE, ~LATE]))
    with pytest.raises(ModelError) as caught:
        box_of(model, NUMBERS)
    assert str(caught.value) == "MultiOutputClassifier does not tell rows of one class from those of another"


def test_a_label_that_is_no_class_is_refused():
    class Odd:
        classes_ = np.array(["late", "paid"])

        def predict(self, frame: pd.DataFrame) -> np.ndarray:
            return np.array(["late", "unknown"])[(frame["age"] > 30).astype(int)]

    with pytest.raises(ModelError) as caught:
        box_of(Odd(), NUMBERS)
    first = int((NUMBERS["age"] > 30).argmax())
    assert str(caught.value) == f"the model's label for row {first}, 'unknown', is none of its classes: 'late', 'paid'"
