"""The differentiable twin of an additive model: exact on real rows, or none at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PolynomialFeatures, StandardScaler

import l2c
from l2c.adapters import frames
from l2c.adapters.models import as_blackbox, differentiable
from l2c.adapters.models.additive import TOLERANCE, AdditiveTwin, additive_twin
from l2c.core.blackbox import BlackBox
from l2c.core.layout import Layout
from l2c.core.schema import Schema
from l2c.core.types import Cells
from l2c.engine.discretise import discretise

GERMAN = l2c.datasets.load("german")


class Case:
    """A model on training rows, seen by L2C as it sees a user's."""

    def __init__(self, model: Any, rows: pd.DataFrame, schema: Schema) -> None:
        self.model, self.rows, self.schema = model, rows[list(schema.names)], schema
        self.cells: Cells = frames.strict(frames.read(self.rows, schema))
        self.blackbox: BlackBox = as_blackbox(model, frames.shape_of(self.rows, schema), self.cells[:8])
        self.layout: Layout = discretise(schema, self.cells, self.blackbox.proba(self.cells).argmax(axis=1))

    @property
    def twin(self) -> AdditiveTwin | None:
        return additive_twin(self.blackbox, self.layout, self.cells)

    def log_odds(self, cells: Cells) -> np.ndarray:
        proba = self.blackbox.proba(cells)
        return np.log(proba) - np.log(proba[:, :1])


def names(schema: Schema, *, numeric: bool) -> list[str]:
    return [feature.name for feature in schema.features if feature.numeric is numeric]


def pipeline(schema: Schema, numbers: Any, last: Any, others: Any = None) -> Any:
    others = others or OneHotEncoder(handle_unknown="ignore")
    parts = (numbers, names(schema, numeric=True)), (others, names(schema, numeric=False))
    return make_pipeline(make_column_transformer(*parts, sparse_threshold=0), last)


def on_german(numbers: Any, last: Any) -> Case:
    model = pipeline(GERMAN.schema, numbers, last)
    return Case(model.fit(GERMAN.train, GERMAN.train["risk"]), GERMAN.train, GERMAN.schema)


def with_gaps(rows: int) -> pd.DataFrame:
    """Return people some of whom lack their debt, their job, or both."""
    rng = np.random.default_rng(11)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "debt": pd.Series(rng.normal(2000, 700, rows)).mask(rng.random(rows) < 0.3),
            "job": pd.Series(rng.choice(["clerk", "cook", "nurse"], rows)).mask(rng.random(rows) < 0.2),
            "married": rng.random(rows) < 0.5,
        }
    )


GAPS = with_gaps(300)
NOISE = np.random.default_rng(12).logistic(0, 1, 300)
LATE = (
    GAPS["age"] / 20 + GAPS["debt"].isna() - GAPS["debt"].fillna(0) / 2000 + (GAPS["job"] == "cook") + NOISE > 2
).to_numpy()


def imputing(indicator: bool) -> Any:
    """Return a model that fills numbers in, flags that or not, and takes a missing job as a job."""
    schema = Schema.infer(GAPS)
    numbers = make_pipeline(SimpleImputer(add_indicator=indicator), StandardScaler())
    jobs = make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder(handle_unknown="ignore"))
    return pipeline(schema, numbers, LogisticRegression(), jobs).fit(as_text(GAPS), LATE)


def as_text(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.astype({"married": str, "job": object})


@pytest.fixture(scope="module")
def german() -> Case:
    return on_german(StandardScaler(), LogisticRegression(max_iter=1000))


@pytest.fixture(scope="module", params=[True, False], ids=["flagged", "filled"])
def gaps(request: pytest.FixtureRequest) -> Case:
    rows = as_text(GAPS)
    return Case(imputing(request.param), rows, Schema.infer(rows))


def test_logistic_regression_on_german_has_a_twin_that_is_exact_on_rows_it_never_saw(german):
    unseen = frames.strict(frames.read(GERMAN.test, GERMAN.schema))
    expected = german.model.predict_proba(GERMAN.test[list(GERMAN.schema.names)])
    np.testing.assert_allclose(german.twin.proba(unseen), expected, rtol=0, atol=1e-9)


def test_the_twin_is_what_the_engine_learns_through(german):
    assert isinstance(differentiable(german.blackbox, german.layout, german.cells), AdditiveTwin)


def logits_of_hard_rows(case: Case) -> torch.Tensor:
    hot = torch.from_numpy(case.layout.one_hot(case.layout.levels(case.cells))).double()
    return case.twin.logits(torch.from_numpy(np.nan_to_num(case.cells)), hot)


def test_the_logits_of_hard_rows_are_the_models_log_odds(german):
    np.testing.assert_allclose(logits_of_hard_rows(german), german.log_odds(german.cells), rtol=0, atol=1e-6)


def test_the_logits_of_hard_rows_with_missing_values_are_the_models_log_odds(gaps):
    np.testing.assert_allclose(logits_of_hard_rows(gaps), gaps.log_odds(gaps.cells), rtol=0, atol=1e-6)


def test_single_precision_rows_get_single_precision_logits(german):
    hot = torch.from_numpy(german.layout.one_hot(german.layout.levels(german.cells)))
    logits = german.twin.logits(torch.from_numpy(german.cells).float(), hot)
    assert logits.dtype == torch.float32
    np.testing.assert_allclose(logits.softmax(dim=1), german.model.predict_proba(german.rows), rtol=0, atol=1e-4)


def test_the_gradient_by_a_number_is_the_models_own_finite_difference(german):
    people = german.cells[:5]
    values = torch.from_numpy(people.copy()).requires_grad_()
    hot = torch.from_numpy(german.layout.one_hot(german.layout.levels(people))).double()
    german.twin.logits(values, hot)[:, 1].sum().backward()
    for i, feature in enumerate(GERMAN.schema.features):
        if not feature.numeric:
            assert (values.grad[:, i] == 0).all()
            continue
        up, down = people.copy(), people.copy()
        up[:, i], down[:, i] = up[:, i] + 4, down[:, i] - 4
        slope = (german.log_odds(up) - german.log_odds(down))[:, 1] / 8
        np.testing.assert_allclose(values.grad[:, i], slope, rtol=1e-6)


def test_the_gradient_by_a_level_is_what_the_model_makes_of_changing_to_it(german):
    person = german.cells[:1]
    hot = torch.from_numpy(german.layout.one_hot(german.layout.levels(person))).double().requires_grad_()
    german.twin.logits(torch.from_numpy(person), hot)[:, 1].sum().backward()
    changed, expected = [], []
    for i, (feature, start) in enumerate(zip(GERMAN.schema.features, german.layout.offsets, strict=True)):
        for level in range(len(feature.levels)):
            other = person[0].copy()
            other[i] = level
            changed.append(other)
            expected.append(float(hot.grad[0, start + level] - hot.grad[0, start + int(person[0, i])]))
    effect = (german.log_odds(np.array(changed)) - german.log_odds(person))[:, 1]
    np.testing.assert_allclose(expected, effect, rtol=0, atol=1e-9)


def test_missing_numbers_and_categories_are_part_of_the_twin(gaps):
    gone = np.isnan(gaps.cells)
    assert gone[:, 1].sum() > 30
    assert gone[:, 2].sum() > 30
    assert (gone[:, 1] & gone[:, 2]).sum() > 5
    np.testing.assert_allclose(gaps.twin.proba(gaps.cells), gaps.model.predict_proba(gaps.rows), rtol=0, atol=1e-9)


def test_a_feature_that_could_be_missing_but_never_is_is_not_asked_without_it():
    rows = GAPS[["age", "debt"]].fillna(1500.0)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, LATE)
    schema = Schema.infer(rows).edit("debt", missing=True)
    case = Case(model, rows, schema)
    np.testing.assert_allclose(case.twin.proba(case.cells), model.predict_proba(rows), rtol=0, atol=1e-9)


def test_a_value_that_is_missing_only_beyond_the_checked_rows_is_measured_too(monkeypatch):
    rows = as_text(GAPS).sort_values("debt")
    case = Case(imputing(True), rows, Schema.infer(rows))
    monkeypatch.setattr("l2c.adapters.models.additive.CHECKED_ROWS", 100)
    assert not np.isnan(case.cells[:100, 1]).any()
    np.testing.assert_allclose(case.twin.proba(case.cells), case.model.predict_proba(case.rows), rtol=0, atol=1e-9)


def test_without_one_complete_row_there_is_no_twin():
    rows = as_text(GAPS)
    case = Case(imputing(True), rows, Schema.infer(rows))
    incomplete = case.cells[np.isnan(case.cells).any(axis=1)]
    assert additive_twin(case.blackbox, case.layout, incomplete) is None


def test_three_classes_of_one_softmax_have_a_twin():
    rows = GERMAN.train
    thirds = np.digitize(rows["credit_amount"] + 100 * rows["age"], [4000, 7000])
    model = pipeline(GERMAN.schema, StandardScaler(), LogisticRegression(max_iter=2000)).fit(rows, thirds)
    case = Case(model, rows, GERMAN.schema)
    assert case.twin.proba(case.cells).shape == (800, 3)
    np.testing.assert_allclose(case.twin.proba(case.cells), model.predict_proba(case.rows), rtol=0, atol=TOLERANCE)


def test_any_linear_scaling_of_numbers_has_a_twin():
    case = on_german(MinMaxScaler(), LogisticRegression(max_iter=1000))
    np.testing.assert_allclose(case.twin.proba(case.cells), case.model.predict_proba(case.rows), rtol=0, atol=1e-9)


def test_a_column_of_one_value_has_no_slope():
    rows = GERMAN.train.assign(duration=12)
    model = pipeline(GERMAN.schema, StandardScaler(), LogisticRegression(max_iter=1000)).fit(rows, rows["risk"])
    case = Case(model, rows, GERMAN.schema)
    assert (case.twin.slopes[GERMAN.schema.index("duration")] == 0).all()
    np.testing.assert_allclose(case.twin.proba(case.cells), model.predict_proba(case.rows), rtol=0, atol=1e-9)


def test_a_model_that_is_sure_of_nearly_everyone_still_has_a_twin():
    # The first rows are those for which one probability rounds to nothing: no base for a measurement.
    rows = GERMAN.train[["duration", "credit_amount", "age"]].sort_values("credit_amount", ascending=False)
    sure = rows["credit_amount"].to_numpy() - 2500.0

    def model(frame: pd.DataFrame) -> np.ndarray:
        return 1 / (1 + np.exp(np.clip(-(frame["credit_amount"].to_numpy() - 2500.0) / 10, -700, 700)))

    case = Case(model, rows, Schema.infer(rows))
    assert (np.abs(sure) > 370).mean() > 0.8
    np.testing.assert_allclose(case.twin.proba(case.cells)[:, 1], model(rows), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("numbers", "last"),
    [
        (StandardScaler(), RandomForestClassifier(5, random_state=0)),
        (make_pipeline(StandardScaler(), PolynomialFeatures(2)), LogisticRegression(max_iter=1000)),
        (
            make_pipeline(StandardScaler(), PolynomialFeatures(2, interaction_only=True)),
            LogisticRegression(max_iter=1000),
        ),
        (StandardScaler(), MLPClassifier((4,), random_state=0, max_iter=20, early_stopping=False)),
    ],
    ids=["trees", "squares", "interactions", "network"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_model_that_is_not_additive_has_no_twin(numbers, last):
    assert on_german(numbers, last).twin is None


def test_three_classes_of_three_separate_models_have_no_twin():
    rows = GERMAN.train
    thirds = np.digitize(rows["credit_amount"] + 100 * rows["age"], [4000, 7000])
    each = OneVsRestClassifier(LogisticRegression(max_iter=1000))
    model = pipeline(GERMAN.schema, StandardScaler(), each).fit(rows, thirds)
    assert Case(model, rows, GERMAN.schema).twin is None


@pytest.mark.parametrize(("off", "exact"), [(5e-7, True), (2e-6, False)])
def test_a_single_row_that_disagrees_by_more_than_rounding_is_enough_to_refuse(off, exact):
    rows = GERMAN.train[["duration", "credit_amount", "age"]]
    oldest = rows["age"].max()

    def model(frame: pd.DataFrame) -> np.ndarray:
        plain = 1 / (1 + np.exp(-(frame["credit_amount"].to_numpy() - 2500.0) / 5000))
        return plain + off * (frame["age"].to_numpy() == oldest)

    case = Case(model, rows, Schema.infer(rows))
    assert (case.twin is not None) is exact
