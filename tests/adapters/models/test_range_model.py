"""Models that predict a number, each trained here: told from classifiers, asked with frames of any kind."""

from __future__ import annotations

import warnings

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from catboost import CatBoost, CatBoostClassifier, CatBoostRanker, CatBoostRegressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import l2c
from adapters.models.people import DECLARED, KINDS, NUMBERS, SCORE, WORDS
from l2c.adapters import frames
from l2c.adapters.models.deciding import decided
from l2c.adapters.models.files import open_model
from l2c.adapters.models.range_model import RangeModel, finite
from l2c.adapters.models.regressors import regressor
from l2c.adapters.models.watch import within
from l2c.core.number_range import NumberRange
from l2c.errors import InputError, ModelError

WANTED = NumberRange.of((-1.0, 1.0))
QUIET = {"iterations": 5, "verbose": False, "allow_writing_files": False, "thread_count": 1}
JOBS = ["job", "school"]


def shape_of(frame):
    return frames.shape_of(frame, l2c.Schema.infer(frame))


def cells_of(frame):
    return frames.strict(frames.read(frame, l2c.Schema.infer(frame)))


def box_of(model, frame, wanted=WANTED):
    return decided(model, shape_of(frame), cells_of(frame)[:8], wanted=wanted)


def linear(frame=DECLARED):
    words = make_column_transformer((OneHotEncoder(), JOBS), (StandardScaler(), ["age", "the debt"]))
    return make_pipeline(words, LinearRegression()).fit(frame, SCORE)


def boosted_file(tmp_path):
    matrix = xgboost.DMatrix(NUMBERS, SCORE)
    path = tmp_path / "score.json"
    xgboost.train({"objective": "reg:squarederror", "max_depth": 2, "nthread": 1}, matrix, 4).save_model(path)
    return open_model(str(path))


def light_file(tmp_path):
    path = tmp_path / "score.txt"
    lightgbm.LGBMRegressor(n_estimators=4, verbose=-1, n_jobs=1).fit(NUMBERS, SCORE).booster_.save_model(path)
    return open_model(str(path))


def cat_file(tmp_path):
    path = tmp_path / "score.cbm"
    CatBoostRegressor(**QUIET).fit(NUMBERS, SCORE).save_model(str(path))
    return open_model(str(path))


MODELS = {
    "pipeline": lambda: (linear(), DECLARED),
    "search": lambda: (GridSearchCV(LinearRegression(), {"fit_intercept": [True, False]}).fit(NUMBERS, SCORE), NUMBERS),
    "forest on an array": lambda: (RandomForestRegressor(5, n_jobs=1).fit(NUMBERS.to_numpy(), SCORE), NUMBERS),
    "histogram": lambda: (HistGradientBoostingRegressor(max_iter=5).fit(NUMBERS, SCORE), NUMBERS),
    "xgboost": lambda: (
        xgboost.XGBRegressor(n_estimators=4, n_jobs=1, enable_categorical=True).fit(DECLARED, SCORE), DECLARED
    ),
    "lightgbm": lambda: (lightgbm.LGBMRegressor(n_estimators=4, verbose=-1, n_jobs=1).fit(DECLARED, SCORE), DECLARED),
    "catboost": lambda: (CatBoostRegressor(**QUIET, cat_features=JOBS).fit(DECLARED, SCORE), DECLARED),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_a_regressor_predicts_for_cells_what_its_library_predicts_for_the_frame(name, kind):
    model, frame = MODELS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn remarks on arrays and names
        expected = model.predict(frame)
    given = KINDS[kind](frame)
    blackbox, cells = box_of(model, given), cells_of(given)
    assert blackbox.classes == ("outside", "inside")
    predicted = blackbox.prediction(cells)
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-5)
    inside = (predicted >= -1) & (predicted <= 1)
    assert (blackbox.proba(cells).argmax(axis=1) == inside).all()


@pytest.mark.parametrize("stored", [boosted_file, light_file, cat_file])
def test_a_regressor_from_a_file_is_one(tmp_path, stored):
    blackbox = box_of(stored(tmp_path), NUMBERS)
    assert isinstance(blackbox, RangeModel)
    assert np.corrcoef(blackbox.prediction(cells_of(NUMBERS)), SCORE)[0, 1] > 0.5


def test_catboosts_logarithms_become_the_numbers_that_they_stand_for():
    counts = np.round(np.abs(SCORE)) + 1
    trained = CatBoostRegressor(**QUIET, loss_function="Poisson").fit(NUMBERS, counts)
    plain = CatBoost({**QUIET, "loss_function": "Poisson"}).fit(NUMBERS, counts)
    expected = trained.predict(NUMBERS)
    for model in (trained, plain):
        np.testing.assert_allclose(box_of(model, NUMBERS).prediction(cells_of(NUMBERS)), expected, rtol=1e-6)


def test_what_tells_classes_apart_or_says_nothing_is_no_regressor():
    shape = shape_of(NUMBERS)
    classifiers = [
        LogisticRegression().fit(NUMBERS, WORDS),
        LinearSVC().fit(NUMBERS, WORDS),
        xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(NUMBERS, WORDS == "late"),
        lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1).fit(NUMBERS, WORDS),
        CatBoostClassifier(**QUIET).fit(NUMBERS, WORDS),
        CatBoostRanker(**QUIET).fit(NUMBERS, SCORE, group_id=np.zeros(len(SCORE), dtype=int)),
        xgboost.train({"objective": "reg:logistic", "nthread": 1}, xgboost.DMatrix(NUMBERS, WORDS == "late"), 2),
        IsolationForest(n_estimators=2).fit(NUMBERS),
        LinearRegression,
        lambda frame: np.zeros(len(frame)),
    ]
    assert [type(model) for model in classifiers if regressor(model, shape) is not None] == []


def halves(frame):
    return frame["age"] / 2


def test_a_function_or_an_object_predicts_numbers_if_it_says_so():
    class Scorer:
        regression = True

        def predict(self, frame):
            return frame[["age"]].to_numpy() / 2

    halves.regression = True
    expected = NUMBERS["age"] / 2
    for model in (halves, Scorer()):
        np.testing.assert_array_equal(box_of(model, NUMBERS).prediction(cells_of(NUMBERS)), expected)
    del halves.regression


def test_a_number_needs_a_range_and_a_range_needs_a_number():
    shape, cells = shape_of(NUMBERS), cells_of(NUMBERS)
    with pytest.raises(InputError) as told:
        decided(LinearRegression().fit(NUMBERS, SCORE), shape, cells)
    assert str(told.value) == (
        "LinearRegression predicts a number, not a class: say in which range it should be, "
        "as in fit(..., desired=(low, high))"
    )
    with pytest.raises(InputError) as told:
        box_of(LogisticRegression().fit(NUMBERS, WORDS), NUMBERS)
    assert str(told.value) == (
        "LogisticRegression tells classes apart, and desired=(low, high) is for a model that predicts a number; "
        "say which class is desired when you ask: explain(..., desired=...)"
    )
    with pytest.raises(InputError) as told:
        box_of(halves, NUMBERS)
    assert str(told.value) == (
        "it cannot be told whether the function 'halves' predicts a number, as desired=(low, high) needs; "
        "if it does, say so by an attribute: model.regression = True"
    )
    with pytest.raises(InputError, match="threshold is for models of two classes; LinearRegression predicts a number"):
        decided(LinearRegression().fit(NUMBERS, SCORE), shape, cells, threshold=0.3, wanted=WANTED)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ([1.0, float("nan")], "the model predicted no finite number for row 1"),
        ([float("inf"), 1.0], "the model predicted no finite number for row 0"),
        ([1.0], r"the model answered 2 rows with shape \(1,\); expected one number a row"),
        ([[1.0, 2.0], [3.0, 4.0]], r"the model answered 2 rows with shape \(2, 2\); expected one number a row"),
        (["much", "little"], "the model answered with no array of numbers"),
    ],
)
def test_a_broken_promise_is_named(answer, sentence):
    with pytest.raises(ModelError, match=sentence):
        finite(answer, rows=2)


def test_a_model_that_raises_is_named_and_no_rows_are_no_question():
    def sulking(frame):
        raise RuntimeError(f"not today, all {len(frame)}")

    sulking.regression = True
    with pytest.raises(ModelError, match="the model raised RuntimeError: not today, all 8"):
        box_of(sulking, NUMBERS)
    shape = shape_of(NUMBERS)
    assert RangeModel(sulking, shape, WANTED).prediction(np.empty((0, 2))).shape == (0,)


def test_another_range_keeps_the_unit():
    blackbox = box_of(linear(), DECLARED).in_units_of(cells_of(DECLARED))
    assert blackbox.wanted.unit == pytest.approx(np.std(linear().predict(DECLARED)))
    other = blackbox.wanting(NumberRange.of((None, 0.0)))
    assert (other.wanted.high, other.wanted.unit) == (0.0, blackbox.wanted.unit)


def test_with_a_deadline_it_is_still_a_model_of_numbers():
    blackbox = box_of(linear(), DECLARED)
    hurried = within(blackbox, 10.0)
    assert isinstance(hurried, RangeModel)
    np.testing.assert_array_equal(hurried.prediction(cells_of(DECLARED)), blackbox.prediction(cells_of(DECLARED)))


def test_a_frame_of_its_kind_is_asked_as_it_stands():
    frame = pd.DataFrame({"age": [30, 40], "the debt": [1.5, 2.5]})
    model = LinearRegression().fit(NUMBERS, SCORE)
    blackbox = box_of(model, NUMBERS)
    np.testing.assert_allclose(blackbox.prediction_of_frame(frame, 2), model.predict(frame))
    assert blackbox.of_frame(frame, 2).shape == (2, 2)
