"""LightGBM, by its classifier and by bare boosters: the same answers as the library's own, by the columns' names."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from adapters.models.people import (
    DECLARED,
    GAPS,
    KINDS,
    LATE,
    NUMBERS,
    ROWS,
    TEXTS,
    THIRDS,
    WORDS,
    answers_as,
    box_of,
)  # fmt: skip
from l2c.errors import InputError, ModelError

SMALL = {"num_leaves": 6, "min_child_samples": 5, "verbose": -1, "num_threads": 1}


def classifier(frame: Any, labels: Any = LATE, **settings: Any) -> lightgbm.LGBMClassifier:
    return lightgbm.LGBMClassifier(n_estimators=4, **SMALL, **settings).fit(frame, labels)


def booster(frame: Any, objective: str = "binary") -> lightgbm.Booster:
    several = objective.startswith("multi")
    settings = {"objective": objective, **SMALL} | ({"num_class": 3} if several else {})
    return lightgbm.train(settings, lightgbm.Dataset(frame, label=THIRDS if several else LATE.astype(int)), 4)


def both(yes: np.ndarray) -> np.ndarray:
    return np.stack([1 - yes, yes], axis=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("labels", "classes"),
    [(LATE, (False, True)), (LATE.astype(int), (0, 1)), (WORDS, ("late", "paid")), (THIRDS, (0, 1, 2))],
    ids=["bool", "int", "str", "three"],
)
@pytest.mark.parametrize("frame", [DECLARED, GAPS], ids=["declared", "gaps"])
def test_a_classifier_answers_cells_as_it_answers_the_frame(frame, labels, classes, kind):
    model = classifier(frame, labels)
    blackbox = answers_as(model, KINDS[kind](frame), model.predict_proba(frame))
    assert blackbox.classes == classes
    assert [type(label) for label in blackbox.classes] == [type(label) for label in classes]


def test_columns_are_found_by_name_though_the_library_goes_by_place():
    turned = GAPS[GAPS.columns[::-1]]
    model = classifier(GAPS)
    answers_as(model, turned, model.predict_proba(GAPS))
    bare = booster(GAPS)
    answers_as(bare, turned, both(bare.predict(GAPS)))


def test_a_blank_in_a_name_is_an_underscore_to_the_library():
    model = classifier(GAPS)
    assert "the_debt" in model.feature_name_
    expected = model.predict_proba(GAPS)
    without = model.predict_proba(GAPS.assign(**{"the debt": 0.0}))
    assert np.abs(expected - without).max() > 0.01
    answers_as(make_pipeline(lightgbm.LGBMClassifier(n_estimators=4, **SMALL)).fit(GAPS, LATE), GAPS, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_become_the_categories_that_the_model_remembers(kind):
    model = classifier(DECLARED)
    answers_as(model, KINDS[kind](TEXTS), model.predict_proba(DECLARED))
    answers_as(model.booster_, KINDS[kind](TEXTS), model.predict_proba(DECLARED))


def test_numbers_become_the_categories_that_the_model_remembers():
    codes = pd.Series(np.random.default_rng(5).choice([30, 10, 20], ROWS))
    declared = NUMBERS.assign(code=pd.Categorical(codes, [30, 10, 20]))
    model = classifier(declared, (codes == 10) ^ LATE, cat_smooth=1, min_data_per_group=5)
    expected = model.predict_proba(declared)
    assert np.abs(expected - model.predict_proba(declared.assign(code=declared["code"].mask(codes > 0)))).max() > 0.01
    answers_as(model, NUMBERS.assign(code=codes), expected)


def test_other_declared_categories_do_not_change_an_answer():
    model = classifier(DECLARED)
    others = DECLARED.assign(job=pd.Categorical(TEXTS["job"], ["cook", "nurse", "clerk"]))
    answers_as(model, others, model.predict_proba(DECLARED))


def test_texts_that_the_model_knows_nothing_of_are_refused_in_its_own_words():
    with pytest.raises(ModelError) as caught:
        box_of(classifier(DECLARED.drop(columns="school").assign(school=1)), TEXTS)
    assert str(caught.value) == (
        "the model raised ValueError: train and valid dataset categorical_feature do not match."
    )


@pytest.mark.parametrize("objective", ["binary", "cross_entropy"])
def test_a_booster_of_one_probability_has_two_classes(objective):
    model = booster(GAPS, objective)
    assert answers_as(model, GAPS, both(model.predict(GAPS))).classes == (0, 1)


def test_a_booster_of_three_classes_answers_with_their_probabilities():
    model = booster(GAPS, "multiclass")
    assert answers_as(model, GAPS, model.predict(GAPS)).classes == (0, 1, 2)


def test_classes_that_were_learned_each_by_itself_are_made_to_add_to_1():
    raw = booster(GAPS, "multiclassova").predict(GAPS)
    assert np.abs(raw.sum(axis=1) - 1).max() > 0.01
    expected = raw / raw.sum(axis=1, keepdims=True)
    answers_as(booster(GAPS, "multiclassova"), GAPS, expected)
    model = classifier(GAPS, THIRDS, objective="multiclassova")
    answers_as(model, GAPS, expected)
    assert expected.argmax(axis=1).tolist() == model.predict(GAPS).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_was_trained_on_an_array_gets_an_array_in_the_frames_order(kind):
    array = NUMBERS.to_numpy()
    model = booster(array)
    answers_as(model, KINDS[kind](NUMBERS), both(model.predict(array)))
    answers_as(classifier(array), KINDS[kind](NUMBERS), both(model.predict(array)))


def test_what_is_no_classifier_is_refused():
    for model, told in (
        (booster(GAPS, "regression"), "the LightGBM model is no classifier: its objective is regression"),
        (
            lightgbm.LGBMRegressor(n_estimators=1, **SMALL).fit(NUMBERS, LATE),
            "LGBMRegressor is no classifier: expected LGBMClassifier or a Booster of one",
        ),
    ):
        with pytest.raises(InputError) as caught:
            box_of(model, GAPS)
        assert str(caught.value) == told


def test_a_classifier_that_was_not_fitted_is_refused():
    with pytest.raises(ModelError) as caught:
        box_of(lightgbm.LGBMClassifier(), NUMBERS)
    assert str(caught.value) == "LGBMClassifier has no classes_: fit it before it is explained"


def test_a_column_that_the_schema_lacks_is_named():
    with pytest.raises(InputError) as caught:
        box_of(booster(NUMBERS.rename(columns={"the debt": "debts"})), NUMBERS)
    assert str(caught.value) == (
        "the LightGBM model was trained on a column 'debts' that the schema does not have; did you mean 'the debt'?"
    )
