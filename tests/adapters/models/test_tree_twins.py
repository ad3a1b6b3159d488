"""Twins of boosted trees: what the model answers, however its inputs are made, or none at all."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler

import l2c
from adapters.models.people import DECLARED, GAPS, KINDS, LATE, NUMBERS, TEXTS, THIRDS, WORDS
from l2c.adapters import frames
from l2c.adapters.models import as_blackbox
from l2c.adapters.models.twins import twin_of
from l2c.adapters.models.watch import within
from l2c.core.tree_twin import MOST_LEAVES, TreeTwin
from l2c.core.twin import Twin
from l2c.engine.decode import decode_levels
from l2c.engine.discretise import discretise
from tables import question_for, random_levels

rng = np.random.default_rng(4)
MANY = pd.DataFrame({"age": rng.integers(18, 90, 900), "the debt": rng.normal(20, 7, 900)})
TEXT, NUMBER = ["job", "school", "married"], ["age", "the debt"]
CODED = DECLARED.drop(columns="married")
POSTCODES = pd.DataFrame({"zip": np.repeat(np.arange(400), 4), "age": rng.integers(18, 80, 1600)})
WITH_ZEROS = NUMBERS.where(rng.random(NUMBERS.shape) < 0.7, 0.0)


def encoded(last: Any, numbers: Any = None, texts: Any = None) -> Any:
    """Return a pipeline that ends in a model."""
    numbers, texts = numbers or StandardScaler(), texts or OneHotEncoder(sparse_output=False)
    return make_pipeline(make_column_transformer((numbers, NUMBER), (texts, TEXT)), last)


def trees(**settings: Any) -> xgboost.XGBClassifier:
    return xgboost.XGBClassifier(
        **{"n_estimators": 9, "max_depth": 4, "n_jobs": 1, "enable_categorical": True, **settings}
    )


def histogram(**settings: Any) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(**{"max_iter": 9, "min_samples_leaf": 5, "random_state": 0, **settings})


def leaves(**settings: Any) -> lightgbm.LGBMClassifier:
    usual = {"n_estimators": 9, "min_child_samples": 5, "min_data_per_group": 5, "n_jobs": 1, "verbose": -1}
    return lightgbm.LGBMClassifier(**{**usual, **settings})


def stopped() -> xgboost.XGBClassifier:
    """Return a model whose last trees do not count."""
    model = trees(n_estimators=60, early_stopping_rounds=2).fit(
        DECLARED[:100], LATE[:100], eval_set=[(DECLARED[100:], LATE[100:])], verbose=False
    )
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    return model


PRUNED = trees(n_estimators=8, max_depth=5, gamma=3, tree_method="exact", enable_categorical=False)
SEEN: dict[str, tuple[Any, pd.DataFrame]] = {
    "xgboost": (trees().fit(DECLARED, LATE), DECLARED),
    "xgboost, gaps": (trees().fit(GAPS, LATE), GAPS),
    "xgboost, deep": (trees(max_depth=6).fit(GAPS, LATE), GAPS),
    "xgboost, by one level": (trees(max_cat_to_onehot=9).fit(DECLARED, LATE), DECLARED),
    "xgboost, a base": (trees(base_score=0.2).fit(DECLARED, LATE), DECLARED),
    "xgboost, stopped early": (stopped(), DECLARED),
    "xgboost, several trees a round": (trees(num_parallel_tree=3, subsample=0.7).fit(DECLARED, LATE), DECLARED),
    "xgboost, pruned": (PRUNED.fit(NUMBERS, LATE), NUMBERS),
    "xgboost of a sparse matrix": (encoded(trees(), texts=OneHotEncoder()).fit(TEXTS, LATE), TEXTS),
    "booster": (trees().fit(GAPS, LATE).get_booster(), GAPS),
    "lightgbm": (leaves().fit(DECLARED, LATE), DECLARED),
    "lightgbm, gaps": (leaves(n_estimators=20).fit(GAPS, WORDS), GAPS),
    "lightgbm, nothing missing in training": (leaves().fit(DECLARED, LATE), GAPS),
    "lightgbm, steep": (leaves(sigmoid=2.0).fit(DECLARED, LATE), DECLARED),
    "lightgbm without names": (leaves().fit(NUMBERS.to_numpy(), LATE), NUMBERS),
    "lightgbm's booster": (leaves().fit(GAPS, LATE).booster_, GAPS),
    "lightgbm at the end of a pipeline": (encoded(leaves()).fit(TEXTS, LATE), TEXTS),
    "xgboost at the end of a pipeline": (encoded(trees()).fit(TEXTS, LATE), TEXTS),
    "histogram at the end of a pipeline": (encoded(histogram()).fit(TEXTS, WORDS), TEXTS),
    "histogram by code": (
        encoded(histogram(categorical_features=[2, 3, 4]), texts=OrdinalEncoder()).fit(TEXTS, WORDS), TEXTS,
    ),
    "histogram of a frame": (histogram(categorical_features="from_dtype").fit(CODED, LATE), CODED),
    "histogram with gaps": (histogram().fit(GAPS[NUMBER], LATE), GAPS[NUMBER]),
    "gradient boosting": (encoded(GradientBoostingClassifier(n_estimators=9, random_state=0)).fit(TEXTS, LATE), TEXTS),
    "numbers as they are": (GradientBoostingClassifier(n_estimators=9, random_state=0).fit(NUMBERS, LATE), NUMBERS),
    "numbers upside down": (
        encoded(histogram(), numbers=FunctionTransformer(lambda x: 7 - 3 * x)).fit(TEXTS, LATE), TEXTS,
    ),
    "gaps filled in and told": (
        make_pipeline(SimpleImputer(add_indicator=True), histogram()).fit(GAPS[NUMBER], LATE), GAPS[NUMBER],
    ),
    "gaps filled in": (
        make_pipeline(SimpleImputer(add_indicator=False), histogram()).fit(GAPS[["age"]], LATE), GAPS[["age"]],
    ),
    "searched": (GridSearchCV(encoded(histogram()), {}, cv=2).fit(TEXTS, LATE), TEXTS),
}  # fmt: skip


def box_of(model: Any, frame: Any) -> tuple[Any, Any, np.ndarray]:
    schema = l2c.Schema.infer(frame)
    cells = frames.strict(frames.read(frame, schema))
    nobody = np.zeros(len(cells), dtype=np.int64)
    return as_blackbox(model, frames.shape_of(frame, schema), cells[:8]), discretise(schema, cells, nobody), cells


@pytest.mark.parametrize("name", SEEN)
def test_boosted_trees_are_seen_through(name):
    model, frame = SEEN[name]
    blackbox, layout, cells = box_of(model, frame)
    twin = twin_of(blackbox, layout, model)
    assert isinstance(twin, TreeTwin)
    np.testing.assert_allclose(twin.of_cells(cells), blackbox.proba(cells), rtol=0, atol=1e-6)
    question, row = question_for(layout, cells[:40]), np.sort(rng.integers(0, 40, 500))
    levels = random_levels(layout, (500,), rng)
    for values in (question.room.values, question.room.others):
        expected = blackbox.proba(decode_levels(layout, levels, values, row))
        np.testing.assert_allclose(twin.proba(twin.inputs(values), row, levels), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_any_kind_are_seen_through(kind):
    model = trees().fit(DECLARED, LATE)
    blackbox, layout, _ = box_of(model, KINDS[kind](DECLARED))
    assert isinstance(twin_of(blackbox, layout, model), TreeTwin)


@pytest.mark.parametrize("dtype", ["uint8", "Int8", "float32"])
def test_columns_that_hold_few_numbers_are_seen_through(dtype):
    model = trees().fit(NUMBERS, LATE)
    blackbox, layout, _ = box_of(model, NUMBERS.astype({"age": dtype}))
    assert isinstance(twin_of(blackbox, layout, model), TreeTwin)


def test_every_cut_is_looked_at_from_both_sides_before_a_twin_is_used(monkeypatch):
    asked = []

    def watched(twin: TreeTwin, cells: np.ndarray, proba: np.ndarray) -> float:
        asked.append(cells)
        return Twin.off(twin, cells, proba)

    monkeypatch.setattr(TreeTwin, "off", watched, raising=False)
    model, frame = SEEN["xgboost, gaps"]
    blackbox, layout, _ = box_of(model, frame)
    twin = twin_of(blackbox, layout, model)
    assert isinstance(twin, TreeTwin)
    rows = np.concatenate(asked)
    for i in np.flatnonzero(layout.numeric):
        cuts = twin.cuts.cut[twin.cuts.starts[i] : twin.cuts.starts[i + 1]]
        assert len(cuts)
        for cut in cuts:
            near = rows[np.abs(rows[:, i] - cut) <= max(1.0, 1e-4 * abs(cut)), i]
            assert (near <= cut).any()
            assert (near > cut).any()


def test_a_model_in_a_hurry_is_seen_through():
    model, frame = SEEN["xgboost"]
    blackbox, layout, _ = box_of(model, frame)
    assert isinstance(twin_of(within(blackbox, 5.0), layout, model), TreeTwin)


def test_a_number_that_lies_on_a_cut_is_on_the_side_where_the_model_has_it():
    rows = pd.DataFrame({"age": np.repeat(np.arange(20, 60), 4), "debt": np.tile([0.1, 0.2, 0.3, 0.7], 40)})
    late = (rows["age"] + 40 * rows["debt"] + rng.normal(0, 3, 160) > 50).to_numpy()
    scaled = make_pipeline(StandardScaler(), trees(n_estimators=30)).fit(rows, late)
    # XGBoost cuts at numbers that people have: each of them lies on a cut.
    blackbox, layout, _ = box_of(scaled, rows)
    twin = twin_of(blackbox, layout, scaled)
    assert isinstance(twin, TreeTwin)
    every = np.array([[age, debt] for age in np.arange(15.0, 65.0) for debt in (0.1, 0.2, 0.3, 0.7)])
    np.testing.assert_allclose(twin.of_cells(every), blackbox.proba(every), rtol=0, atol=1e-6)


def test_whole_numbers_beyond_single_precision_are_on_the_side_where_the_model_has_them():
    first = 2**24 + 1000
    rows = pd.DataFrame({"id": rng.integers(first, first + 60, 3000), "x": rng.integers(0, 12, 3000)})
    model = trees(n_estimators=3).fit(rows, (rows["id"] > first + 10) & (rows["x"] >= 6))
    blackbox, layout, _ = box_of(model, rows)
    twin = twin_of(blackbox, layout, model)
    assert isinstance(twin, TreeTwin)
    every = np.array([[id_, x] for id_ in np.arange(first, first + 60) for x in (2, 9)], dtype=np.float64)
    np.testing.assert_allclose(twin.of_cells(every), blackbox.proba(every), rtol=0, atol=1e-6)


def test_a_model_that_stopped_early_is_seen_through_after_it_was_read_from_a_file(tmp_path):
    stopped().save_model(tmp_path / "model.json")
    model = xgboost.XGBClassifier()
    model.load_model(tmp_path / "model.json")
    blackbox, layout, _ = box_of(model, DECLARED)
    assert isinstance(twin_of(blackbox, layout, model), TreeTwin)


def test_trees_that_are_written_down_otherwise_are_not_read(monkeypatch):
    model, frame = SEEN["xgboost"]
    blackbox, layout, _ = box_of(model, frame)
    monkeypatch.setattr("l2c.adapters.models.xgboost_trees.json.loads", lambda _: {"learner": {}})
    assert twin_of(blackbox, layout, model) is None


IN_BINS = KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf")
MANY_LEAVES = histogram(max_leaf_nodes=None, min_samples_leaf=1, max_iter=3, l2_regularization=0.0)
UNSEEN: dict[str, tuple[Any, pd.DataFrame]] = {
    "a forest, whose trees vote": (encoded(RandomForestClassifier(5, random_state=0)).fit(TEXTS, LATE), TEXTS),
    "three classes": (trees().fit(DECLARED, THIRDS), DECLARED),
    "inputs of several features": (make_pipeline(StandardScaler(), PCA(), histogram()).fit(NUMBERS, LATE), NUMBERS),
    "a number in bins": (encoded(histogram(), numbers=IN_BINS).fit(TEXTS, LATE), TEXTS),
    "a curve of a number": (encoded(histogram(), numbers=FunctionTransformer(np.square)).fit(TEXTS, LATE), TEXTS),
    "a number that counts as missing": (trees(missing=-9.0).fit(DECLARED, LATE), DECLARED),
    "a number that a step treats apart": (
        make_pipeline(SimpleImputer(missing_values=0), histogram()).fit(WITH_ZEROS, LATE), WITH_ZEROS,
    ),
    "more codes than are told apart": (
        leaves(cat_smooth=0).fit(POSTCODES, POSTCODES["zip"] % 3 > 1, categorical_feature=["zip"]),
        POSTCODES,
    ),
    "zeros that count as missing": (leaves(zero_as_missing=True).fit(WITH_ZEROS, LATE), WITH_ZEROS),
    "trees that vote": (
        leaves(boosting_type="rf", bagging_freq=1, bagging_fraction=0.6).fit(DECLARED, LATE), DECLARED,
    ),
    "dropped trees": (trees(booster="dart", rate_drop=0.5).fit(DECLARED, LATE), DECLARED),
    "no trees": (xgboost.XGBClassifier(booster="gblinear", n_estimators=3).fit(NUMBERS, LATE), NUMBERS),
    "trees of many leaves": (MANY_LEAVES.fit(MANY, MANY["age"] * MANY["the debt"] % 7 > 3), MANY),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSEEN)
def test_others_are_not(name):
    model, frame = UNSEEN[name]
    blackbox, layout, _ = box_of(model, frame)
    assert not isinstance(twin_of(blackbox, layout, model), TreeTwin)


def test_that_trees_of_many_leaves_have_too_many():
    model, _ = UNSEEN["trees of many leaves"]
    assert model._predictors[0][0].get_n_leaf_nodes() > MOST_LEAVES


def test_a_model_that_answers_otherwise_than_its_trees_is_not():
    class Bent(xgboost.XGBClassifier):
        def predict_proba(self, frame: Any, **how: Any) -> np.ndarray:
            return super().predict_proba(frame, **how) ** 2 / (super().predict_proba(frame, **how) ** 2).sum(1)[:, None]

    model = Bent(n_estimators=9, max_depth=3, enable_categorical=True).fit(DECLARED, LATE)
    blackbox, layout, _ = box_of(model, DECLARED)
    assert twin_of(blackbox, layout, model) is None
