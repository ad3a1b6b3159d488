"""XGBoost, by its classifier and by bare boosters: the same answers as the library's own, for every objective."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from adapters.models.people import DECLARED, GAPS, KINDS, LATE, NUMBERS, ROWS, TEXTS, THIRDS, answers_as, box_of
from l2c.errors import InputError, ModelError


def classifier(frame: Any, labels: Any = LATE) -> xgboost.XGBClassifier:
    return xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1, enable_categorical=True).fit(frame, labels)


def booster(frame: Any, objective: str = "binary:logistic") -> xgboost.Booster:
    several = objective.startswith("multi:")
    rows = xgboost.DMatrix(frame, label=THIRDS if several else LATE, enable_categorical=True)
    settings = {"objective": objective, "max_depth": 3, "nthread": 1} | ({"num_class": 3} if several else {})
    return xgboost.train(settings, rows, 4)


def own(model: xgboost.Booster, frame: Any, **how: Any) -> np.ndarray:
    return model.predict(xgboost.DMatrix(frame, enable_categorical=True), **how).astype(float)


def both(yes: np.ndarray) -> np.ndarray:
    return np.stack([1 - yes, yes], axis=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [LATE, LATE.astype(int), THIRDS], ids=["bool", "int", "three"])
@pytest.mark.parametrize("frame", [DECLARED, GAPS], ids=["declared", "gaps"])
def test_a_classifier_answers_cells_as_it_answers_the_frame(frame, labels, kind):
    model = classifier(frame, labels)
    blackbox = answers_as(model, KINDS[kind](frame), model.predict_proba(frame))
    assert blackbox.classes == ((0, 1, 2) if labels is THIRDS else (0, 1))
    assert [type(label) for label in blackbox.classes] == [int] * len(blackbox.classes)


def test_columns_are_found_by_name_whatever_their_order():
    for model in (classifier(GAPS), booster(GAPS)):
        expected = model.predict_proba(GAPS) if hasattr(model, "predict_proba") else both(own(model, GAPS))
        answers_as(model, GAPS[GAPS.columns[::-1]], expected)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_become_the_categories_that_the_model_remembers(kind):
    model = classifier(DECLARED)
    answers_as(model, KINDS[kind](TEXTS), model.predict_proba(DECLARED))
    answers_as(model.get_booster(), KINDS[kind](TEXTS), model.predict_proba(DECLARED))


def test_numbers_become_the_categories_that_the_model_remembers():
    codes = pd.Series(np.random.default_rng(5).choice([30, 10, 20], ROWS))
    model = classifier(NUMBERS.assign(code=pd.Categorical(codes, [30, 10, 20])), (codes == 10) ^ (LATE & (codes == 30)))
    expected = model.predict_proba(NUMBERS.assign(code=pd.Categorical(codes, [30, 10, 20])))
    assert np.ptp(expected[:, 1]) > 0.2
    answers_as(model, NUMBERS.assign(code=codes), expected)


def test_other_declared_categories_do_not_change_an_answer():
    model = classifier(DECLARED)
    others = DECLARED.assign(job=pd.Categorical(TEXTS["job"], ["cook", "nurse", "clerk"]))
    answers_as(model, others, model.predict_proba(DECLARED))


def test_booleans_that_may_be_missing_are_taken_from_polars():
    frame = pl.from_pandas(TEXTS[["age", "married"]]).with_columns(
        pl.when(pl.col("age") > 60).then(None).otherwise(pl.col("married")).alias("married")
    )
    model = classifier(frame)
    answers_as(model, frame, model.predict_proba(frame))


def test_levels_that_the_model_was_not_trained_on_are_all_named():
    # XGBoost 3.2 takes an unknown level for the next known one of the alphabet.
    with pytest.raises(InputError) as caught:
        box_of(classifier(DECLARED), TEXTS.replace({"job": {"cook": "cok"}, "school": {"high": "university"}}))
    assert caught.value.problems == (
        "the XGBoost model was not trained on the level 'cok' of 'job'; did you mean 'cook'?",
        "the XGBoost model was not trained on the level 'university' of 'school'",
    )


def test_a_category_that_the_schema_takes_for_a_number_is_refused():
    codes = np.random.default_rng(6).integers(0, 30, ROWS)
    model = classifier(NUMBERS.assign(code=pd.Categorical(codes)))
    with pytest.raises(InputError) as caught:
        box_of(model, NUMBERS.assign(code=codes))
    assert str(caught.value) == "the XGBoost model takes 'code' by category, and the schema declares it numeric"


@pytest.mark.parametrize("objective", ["binary:logistic", "reg:logistic"])
def test_a_booster_of_one_probability_has_two_classes(objective):
    model = booster(GAPS, objective)
    blackbox = answers_as(model, GAPS, both(own(model, GAPS)))
    assert blackbox.classes == (0, 1)
    assert not blackbox.labels_only


def test_a_booster_of_log_odds_is_asked_for_probabilities():
    model = booster(GAPS, "binary:logitraw")
    answers_as(model, GAPS, both(1 / (1 + np.exp(-own(model, GAPS)))))


@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
def test_a_booster_of_three_classes_answers_with_their_probabilities(objective):
    model = booster(GAPS, objective)
    mass = np.exp(own(model, GAPS, output_margin=True))
    expected = mass / mass.sum(axis=1, keepdims=True)
    assert answers_as(model, GAPS, expected).classes == (0, 1, 2)
    labels = own(model, GAPS) if objective == "multi:softmax" else own(model, GAPS).argmax(axis=1)
    assert expected.argmax(axis=1).tolist() == labels.tolist()


def test_a_booster_of_labels_knows_no_more():
    model = booster(GAPS, "binary:hinge")
    assert answers_as(model, GAPS, both(own(model, GAPS))).labels_only


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_was_trained_on_an_array_gets_an_array_in_the_frames_order(kind):
    array = NUMBERS.to_numpy()
    model = booster(array)
    answers_as(model, KINDS[kind](NUMBERS), both(own(model, array)))
    model = classifier(array)
    answers_as(model, KINDS[kind](NUMBERS), model.predict_proba(array))


def test_a_pipeline_that_is_nothing_but_the_classifier_is_a_model():
    model = make_pipeline(xgboost.XGBClassifier(n_estimators=4, enable_categorical=True)).fit(GAPS, LATE)
    answers_as(model, GAPS, model.predict_proba(GAPS))


@pytest.mark.parametrize("objective", ["reg:squarederror", "rank:pairwise"])
def test_a_booster_that_is_no_classifier_is_refused(objective):
    with pytest.raises(InputError) as caught:
        box_of(booster(GAPS, objective), GAPS)
    assert str(caught.value) == f"the XGBoost model is no classifier: its objective is {objective}"


def test_an_estimator_that_is_no_classifier_is_refused():
    with pytest.raises(InputError) as caught:
        box_of(xgboost.XGBRegressor(n_estimators=1).fit(NUMBERS, LATE), NUMBERS)
    assert str(caught.value) == "XGBRegressor is no classifier: expected XGBClassifier or a Booster of one"


def test_a_classifier_that_was_not_fitted_is_refused():
    with pytest.raises(ModelError) as caught:
        box_of(xgboost.XGBClassifier(), NUMBERS)
    assert str(caught.value) == "XGBClassifier has no classes_: fit it before it is explained"


def test_columns_that_the_schema_lacks_are_all_named():
    model = booster(NUMBERS.assign(fee=np.random.default_rng(7).random(ROWS), ages=NUMBERS["age"]).drop(columns="age"))
    with pytest.raises(InputError) as caught:
        box_of(model, NUMBERS)
    assert caught.value.problems == (
        "the XGBoost model was trained on a column 'fee' that the schema does not have",
        "the XGBoost model was trained on a column 'ages' that the schema does not have; did you mean 'age'?",
    )


def test_another_number_of_columns_without_names_is_told():
    with pytest.raises(InputError) as caught:
        box_of(booster(np.column_stack([NUMBERS, LATE])), NUMBERS)
    assert str(caught.value) == "the XGBoost model was trained on 3 columns without names, and the schema has 2"


def test_other_models_do_not_need_the_library(monkeypatch):
    for package in ("xgboost", "lightgbm", "catboost", "onnxruntime", "httpx"):
        monkeypatch.setitem(sys.modules, package, None)
    model = LogisticRegression().fit(NUMBERS, LATE)
    answers_as(model, NUMBERS, model.predict_proba(NUMBERS))
