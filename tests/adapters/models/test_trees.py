"""Seeing into models: a view answers as the model does, or there is none."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from l2c.adapters import frames
from l2c.adapters.models import as_blackbox
from l2c.adapters.models.sight import see_into
from l2c.adapters.models.trees import grown
from l2c.core.blackbox import puts_in
from l2c.core.schema import Schema
from l2c.core.sight import Additive, Trees, View
from l2c.core.types import Cells
from l2c.engine.discretise import discretise
from l2c.release.prove import Case as Asked
from l2c.release.prove import least, prove

RNG = np.random.default_rng(3)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, 400),
        "debt": RNG.normal(2000, 700, 400),
        "job": RNG.choice(["clerk", "cook", "nurse", "smith"], 400),
        "school": RNG.choice(["low", "middle", "high"], 400),
    }
)
SCHEMA = Schema.infer(PEOPLE, ordinal={"school": ["low", "middle", "high"]})
MERIT = (
    PEOPLE["age"] / 20
    - PEOPLE["debt"] / 1000
    + 2 * (PEOPLE["job"] == "cook")
    + (PEOPLE["school"] == "high") * (PEOPLE["age"] > 40)
    + RNG.logistic(0, 0.3, 400)
)
PAID = MERIT.gt(MERIT.median()).to_numpy()
GRADE = np.digitize(MERIT, MERIT.quantile([0.3, 0.7]))
NUMBERS, WORDS = ["age", "debt"], ["job", "school"]

MODELS = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "random tree": ExtraTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(12, max_depth=5, random_state=0),
    "pure forest": RandomForestClassifier(12, random_state=0),
    "extra trees": ExtraTreesClassifier(12, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=15, max_leaf_nodes=6, random_state=0),
}
OUTCOMES = {"two classes": PAID, "three classes": GRADE}


class Case:
    """A model fitted on people, seen by L2C as it sees a user's."""

    def __init__(self, model: Any, rows: Any, schema: Schema, *, shown: int | None = None) -> None:
        self.model, self.rows = model, rows
        self.cells: Cells = frames.strict(frames.read(rows, schema))
        self.blackbox = as_blackbox(model, frames.shape_of(rows, schema), self.cells[:8])
        self.layout = discretise(schema, self.cells, self.blackbox.proba(self.cells).argmax(axis=1))
        self.view: View | None = see_into(self.blackbox, model, self.layout, self.cells[:shown])

    def every_row(self) -> Cells:
        """Return every combination of values that stand for levels."""
        values = [axis.median for axis in self.layout.axes]
        return np.array(list(product(*values)))


def columnwise(last: Any, *, sparse: bool = False) -> Any:
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)
    parts = (StandardScaler(), NUMBERS), (words, ["job"]), (OrdinalEncoder(), ["school"])
    return make_pipeline(make_column_transformer(*parts, sparse_threshold=float(sparse)), last)


def assert_agrees(case: Case, kind: type) -> None:
    assert isinstance(case.view, kind)
    for cells in (case.cells, case.every_row()):
        expected = case.blackbox.proba(cells)
        np.testing.assert_allclose(case.view.proba(case.view.scores(cells)), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("name", MODELS)
def test_trees_behind_columnwise_steps_are_seen_exactly(name, outcome):
    model = columnwise(MODELS[name]).fit(PEOPLE, OUTCOMES[outcome])
    assert_agrees(Case(model, PEOPLE, SCHEMA), Trees)


@pytest.mark.parametrize("name", MODELS)
def test_trees_on_a_frame_of_numbers_are_seen_exactly(name):
    rows = PEOPLE[NUMBERS]
    assert_agrees(Case(MODELS[name].fit(rows, PAID), rows, Schema.infer(rows)), Trees)


@pytest.mark.parametrize("name", ["tree", "boosting", "histogram boosting"])
def test_trees_on_an_array_are_seen_exactly(name):
    rows = PEOPLE[NUMBERS]
    assert_agrees(Case(MODELS[name].fit(rows.to_numpy(), PAID), rows, Schema.infer(rows)), Trees)


def test_columns_in_another_order_than_the_models_are_told_apart():
    model = MODELS["forest"].fit(PEOPLE[["debt", "age"]], PAID)
    assert_agrees(Case(model, PEOPLE[NUMBERS], Schema.infer(PEOPLE[NUMBERS])), Trees)


@pytest.mark.parametrize(
    "make", [pl.from_pandas, lambda rows: pl.from_pandas(rows).to_arrow()], ids=["polars", "arrow"]
)
def test_frames_of_other_libraries_are_seen_through_too(make):
    rows = PEOPLE[NUMBERS]
    model = MODELS["forest"].fit(rows, PAID)
    assert_agrees(Case(model, make(rows), Schema.infer(rows)), Trees)


def test_a_sparse_matrix_between_the_steps_is_no_obstacle():
    assert_agrees(Case(columnwise(MODELS["forest"], sparse=True).fit(PEOPLE, PAID), PEOPLE, SCHEMA), Trees)


def test_frames_between_the_steps_are_no_obstacle():
    model = columnwise(MODELS["forest"]).set_output(transform="pandas").fit(PEOPLE, PAID)
    assert_agrees(Case(model, PEOPLE, SCHEMA), Trees)


def test_any_function_of_one_column_is_seen_through():
    steps = make_column_transformer(
        (FunctionTransformer(np.log), ["debt"]),
        (KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf"), ["age"]),
        ("drop", WORDS),
        (FunctionTransformer(lambda column: np.hstack([column**2, -column])), ["age"]),
    )
    rows = PEOPLE.assign(debt=PEOPLE["debt"].clip(lower=1))
    assert_agrees(Case(make_pipeline(steps, MODELS["forest"]).fit(rows, PAID), rows, SCHEMA), Trees)


def test_the_exponential_loss_is_seen_exactly():
    model = GradientBoostingClassifier(n_estimators=15, loss="exponential", random_state=0)
    assert_agrees(Case(columnwise(model).fit(PEOPLE, PAID), PEOPLE, SCHEMA), Trees)


def test_categories_that_boosting_splits_by_itself_are_seen_exactly():
    rows = PEOPLE.astype({"job": "category", "school": "category"})
    model = MODELS["histogram boosting"].fit(rows, PAID)
    case = Case(model, rows, Schema.infer(rows))
    assert case.view.forest.subsets.any()
    assert_agrees(case, Trees)


def test_a_model_that_was_searched_for_is_seen_into():
    search = GridSearchCV(
        columnwise(DecisionTreeClassifier(random_state=0)), {"decisiontreeclassifier__max_depth": [3]}
    )
    assert_agrees(Case(search.fit(PEOPLE, PAID), PEOPLE, SCHEMA), Trees)


def gappy(numbers: Any, last: Any) -> Case:
    """Return a model of people some of whom lack their debt."""
    rows = PEOPLE[NUMBERS].assign(debt=PEOPLE["debt"].mask(np.arange(400) % 3 == 0))
    model = make_pipeline(make_column_transformer((numbers, NUMBERS)), last)
    return Case(model.fit(rows, PAID), rows, Schema.infer(rows))


@pytest.mark.parametrize("name", ["tree", "forest", "extra trees", "histogram boosting"])
def test_missing_values_go_where_the_trees_send_them(name):
    case = gappy("passthrough", MODELS[name])
    assert np.isnan(case.cells).any()
    assert case.view.gaps.tolist() == [False, True]
    assert_agrees(case, Trees)


def test_missing_values_that_are_filled_in_are_seen_through():
    assert_agrees(gappy(SimpleImputer(add_indicator=True), MODELS["boosting"]), Trees)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_logistic_regression_is_seen_as_a_sum_over_the_features(outcome):
    case = Case(columnwise(LogisticRegression(max_iter=1000)).fit(PEOPLE, OUTCOMES[outcome]), PEOPLE, SCHEMA)
    assert_agrees(case, Additive)
    assert 0 < case.view.slack < 1e-4


@pytest.mark.parametrize("last", [LogisticRegression(max_iter=1000), MODELS["forest"], MODELS["boosting"]])
def test_one_row_is_enough_to_see_by(last):
    case = Case(columnwise(last).fit(PEOPLE, PAID), PEOPLE, SCHEMA, shown=1)
    assert case.view is not None
    expected = case.blackbox.proba(case.cells)
    np.testing.assert_allclose(case.view.proba(case.view.scores(case.cells)), expected, rtol=0, atol=1e-6)


def test_without_any_row_nothing_is_seen():
    assert Case(columnwise(MODELS["forest"]).fit(PEOPLE, PAID), PEOPLE, SCHEMA, shown=0).view is None


@pytest.mark.parametrize(
    "mixing",
    [PCA(2), make_pipeline(StandardScaler(), PolynomialFeatures(2, interaction_only=True))],
    ids=["rotation", "interactions"],
)
@pytest.mark.parametrize("last", [MODELS["forest"], LogisticRegression(max_iter=1000)], ids=["forest", "regression"])
def test_a_step_that_mixes_features_leaves_trees_unseen(mixing, last):
    case = Case(make_pipeline(mixing, last).fit(PEOPLE[NUMBERS], PAID), PEOPLE[NUMBERS], Schema.infer(PEOPLE[NUMBERS]))
    linear = isinstance(mixing, PCA) and isinstance(last, LogisticRegression)
    assert isinstance(case.view, Additive) if linear else case.view is None


def test_a_step_that_mixes_features_out_of_sight_of_the_first_person_is_found_out():
    # For the first person the product is 0 whatever else changes.
    steps = FunctionTransformer(lambda rows: np.stack([rows["age"], rows["age"] * rows["job"].eq("cook")], axis=1))
    rows = pd.concat([PEOPLE[PEOPLE["job"] != "cook"], PEOPLE[PEOPLE["job"] == "cook"]]).reset_index(drop=True)
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(rows, PAID)
    assert Case(model, rows, SCHEMA).view is None


@pytest.mark.parametrize(
    "last",
    [
        AdaBoostClassifier(n_estimators=3, random_state=0),
        GradientBoostingClassifier(n_estimators=3, init=DecisionTreeClassifier(max_depth=2), random_state=0),
    ],
    ids=["weighted votes", "boosting of another model"],
)
def test_trees_that_are_not_added_up_plainly_are_not_seen(last):
    assert Case(columnwise(last).fit(PEOPLE, PAID), PEOPLE, SCHEMA).view is None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_network_is_not_seen_into():
    model = columnwise(MLPClassifier((4,), random_state=0, max_iter=20)).fit(PEOPLE, PAID)
    assert Case(model, PEOPLE, SCHEMA).view is None


def test_more_leaves_than_could_be_reasoned_about_are_not_seen(monkeypatch):
    model = columnwise(MODELS["forest"]).fit(PEOPLE, PAID)
    leaves = Case(model, PEOPLE, SCHEMA).view.forest.leaves
    monkeypatch.setattr("l2c.adapters.models.sight.MOST_LEAVES", leaves)
    assert Case(model, PEOPLE, SCHEMA).view is not None
    monkeypatch.setattr("l2c.adapters.models.sight.MOST_LEAVES", leaves - 1)
    assert Case(model, PEOPLE, SCHEMA).view is None


def test_a_model_that_does_not_know_every_level_is_not_seen_into():
    words = OneHotEncoder(sparse_output=False)
    known = PEOPLE["job"] != "smith"
    for last in (MODELS["forest"], LogisticRegression(max_iter=1000)):
        steps = make_column_transformer((StandardScaler(), NUMBERS), (words, WORDS), sparse_threshold=0)
        model = make_pipeline(steps, last).fit(PEOPLE[known], PAID[known])
        rows = PEOPLE[known].reset_index(drop=True)
        schema = Schema.infer(rows, ordinal={"school": ["low", "middle", "high"]}).edit(
            "job", levels=SCHEMA["job"].levels
        )
        assert Case(model, rows, schema).view is None


def test_a_function_that_is_additive_is_seen_into():
    def model(rows: pd.DataFrame) -> np.ndarray:
        return 1 / (1 + np.exp(-(rows["age"].to_numpy() - 45) / 10 - rows["job"].eq("cook").to_numpy()))

    assert_agrees(Case(model, PEOPLE, SCHEMA), Additive)


def test_what_has_no_trees_has_none_to_read():
    assert grown(LogisticRegression()) is None
    assert grown(DummyClassifier()) is None
    assert grown(len) is None


def room_of(case: Case, row: int) -> Asked:
    """Return the room of a person who may change anything, at a cost of 1 for each change."""
    own = case.layout.levels(case.cells[row : row + 1])[0]
    places = own + case.layout.offsets
    values, cost = case.layout.representatives("median"), np.ones(case.layout.width)
    values[places], cost[places] = case.cells[row], 0.0
    return Asked(own, values, case.layout.stands_for_a_value, cost)


def valid_rows(case: Case, room: Asked, desired: int) -> np.ndarray:
    """Return every valid counterfactual, by the model's own answers to every row."""
    rows = np.array(list(product(*(range(axis.known) for axis in case.layout.axes))), dtype=np.int16)
    rows = rows[(rows != room.own).any(axis=1)]
    proba = case.blackbox.proba(room.values[rows + case.layout.offsets])
    return rows[puts_in(proba, np.full(len(rows), desired))]


@pytest.mark.parametrize("name", [*MODELS, "regression"])
def test_the_verdict_is_that_of_asking_the_model_about_every_row(name):
    last = MODELS.get(name, LogisticRegression(max_iter=1000))
    case = Case(columnwise(last).fit(PEOPLE, GRADE), PEOPLE, SCHEMA)
    current = case.blackbox.proba(case.cells).argmax(axis=1)
    found = set()
    for row in range(8):
        desired = (int(current[row]) + 1 + row % 2) % 3
        room = room_of(case, row)
        valid = valid_rows(case, room, desired)
        changes = (valid != room.own).sum(axis=1)
        verdict = prove(case.view, replace(room, max_changes=1), desired)
        assert verdict.possible is bool((changes == 1).any())
        assert not verdict.possible or (valid[changes == 1] == verdict.witness).all(axis=1).any()
        found.add(verdict.possible)
        fewest = least(case.view, room, desired, "changes")
        assert (None if fewest is None else fewest.amount) == min(changes, default=None)
    assert found == {True, False}
