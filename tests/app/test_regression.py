"""A model that predicts a number, on scikit-learn's diabetes data; what is found is predicted again from scratch."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

import l2c
from l2c.adapters.models import frame_model
from l2c.app import cli
from l2c.core.goal import Goal
from l2c.errors import InputError, OtherModelError

DATA = load_diabetes(as_frame=True, scaled=False)
ROWS, PROGRESS = DATA.data, DATA.target
TRAIN, TEST = ROWS[:330], ROWS[330:]
SCHEMA = l2c.Schema.infer(TRAIN, immutable=["sex"], rises=["age"])
QUICK = l2c.L2C(epochs=3, select="first", model_rows=2000)

MODELS = {
    "ridge": lambda: Ridge(alpha=0.1).fit(TRAIN, PROGRESS[:330]),
    "forest": lambda: RandomForestRegressor(20, random_state=0, n_jobs=1).fit(TRAIN, PROGRESS[:330]),
    "xgboost": lambda: xgboost.XGBRegressor(n_estimators=30, max_depth=3, n_jobs=1).fit(TRAIN, PROGRESS[:330]),
}


@pytest.fixture(scope="module")
def ridge():
    return MODELS["ridge"]()


@pytest.fixture(scope="module")
def explainer(ridge):
    return QUICK.fit(TRAIN, ridge, SCHEMA, desired=(None, 120))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("wanted", [(None, 120), (100, 130), (200, None)])
def test_every_counterfactual_is_predicted_in_the_range(name, wanted):
    model = MODELS[name]()
    found = QUICK.fit(TRAIN, model, SCHEMA, desired=wanted).explain(TEST, 8)
    low, high = (-np.inf if wanted[0] is None else wanted[0], np.inf if wanted[1] is None else wanted[1])
    now, long = model.predict(TEST), found.to_frame()
    predicted = model.predict(long[ROWS.columns])
    inside = (now >= low) & (now <= high)
    assert ((predicted >= low) & (predicted <= high)).all()
    np.testing.assert_allclose(long["prediction"], predicted, rtol=1e-6)
    assert [outcome.status == "already" for outcome in found.outcomes] == inside.tolist()
    assert found.scores().validity == 1.0
    assert np.mean([outcome.status == "found" for outcome in found.outcomes]) + inside.mean() > 0.95
    assert (long["sex"].to_numpy() == TEST["sex"].to_numpy()[long["row"]]).all()
    assert (long["age"].to_numpy() >= TEST["age"].to_numpy()[long["row"]]).all()


def test_another_range_may_be_asked_for_later(explainer, ridge):
    found = explainer.explain(TEST[:30], 5, desired=(140, 160))
    predicted = ridge.predict(found.to_frame()[ROWS.columns])
    assert len(predicted) == 5 * sum(outcome.status != "already" for outcome in found.outcomes)
    assert ((predicted >= 140) & (predicted <= 160)).all()
    assert found.notes["range"] == {"low": 140.0, "high": 160.0, "unit": explainer.blackbox.wanted.unit}
    assert explainer.explain(TEST[:5], 2).notes["range"]["high"] == 120.0


def test_outside_may_be_desired_too(explainer, ridge):
    long = explainer.explain(TEST[:30], 4, desired="outside").to_frame()
    assert len(long)
    assert (ridge.predict(long[ROWS.columns]) > 120).all()


def test_the_long_frame_tells_the_number_and_no_probability(explainer):
    long = explainer.explain(TEST[:5], 2).to_frame()
    assert long.columns.tolist() == ["row", "rank", "index", *ROWS.columns, "prediction", "cost"]
    assert long["prediction"].dtype == float


def test_a_bundle_and_a_found_file_keep_the_range(explainer, ridge, tmp_path):
    explainer.save(tmp_path / "bundle")
    again = l2c.load(tmp_path / "bundle", model=ridge)
    found = again.explain(TEST[:20], 4, desired=(100, 130))
    assert found.to_frame().equals(explainer.explain(TEST[:20], 4, desired=(100, 130)).to_frame())
    found.write(tmp_path / "found.parquet")
    stored = l2c.read(tmp_path / "found.parquet", model=ridge)
    assert stored.to_frame().equals(found.to_frame())
    assert str(stored.mark.wanted) == "100 to 130"
    for name in ("current", "desired", "predicted", "chance"):
        assert np.array_equal(getattr(stored.released, name), getattr(found.released, name))
    assert np.array_equal(stored.released.measured.before, found.released.measured.before)
    assert stored.scores(TRAIN).to_dict() == found.scores(TRAIN).to_dict()
    with pytest.raises(OtherModelError):
        l2c.load(tmp_path / "bundle", model=Ridge(alpha=50).fit(TRAIN, PROGRESS[:330]))
    with pytest.raises(InputError, match="tells classes apart"):
        l2c.load(tmp_path / "bundle", model=LogisticRegression().fit(TRAIN[["age"]], PROGRESS[:330] > 100))


def test_a_row_that_cannot_be_read_has_no_number(explainer, tmp_path):
    rows = TEST[:3].copy()
    rows.iloc[1, 1] = 3.0
    found = explainer.explain(rows, 2)
    assert np.isnan(found.released.measured.before).tolist() == [False, True, False]
    found.write(tmp_path / "found.parquet")
    stored = l2c.read(tmp_path / "found.parquet")
    assert stored.released.current.tolist() == found.released.current.tolist()
    assert [outcome.status for outcome in stored.outcomes][1] == "bad_input"


def test_other_versions_must_agree_on_the_range(explainer, ridge):
    other = MODELS["forest"]()
    long = explainer.explain(TEST[:20], 4, robust=[other]).to_frame()
    assert len(long)
    for model in (ridge, other):
        assert (model.predict(long[ROWS.columns]) <= 120).all()


def test_polars_rows_are_explained_for_a_model_of_pandas_rows(explainer, ridge):
    found = explainer.explain(pl.from_pandas(TEST[:10].reset_index(drop=True)), 3)
    long = found.to_frame()
    assert isinstance(long, pl.DataFrame)
    predicted = ridge.predict(long.to_pandas()[ROWS.columns])
    assert (predicted <= 120).all()
    np.testing.assert_allclose(long["prediction"], predicted)


def test_a_function_says_that_it_predicts_numbers():
    def weight(frame):
        return frame["bmi"].to_numpy() * 2

    with pytest.raises(InputError, match=r"say so by an attribute: model.regression = True$"):
        QUICK.fit(TRAIN, weight, SCHEMA, desired=(None, 50))
    weight.regression = True
    long = QUICK.fit(TRAIN, weight, SCHEMA, desired=(None, 50)).explain(TEST[:20], 3).to_frame()
    assert (2 * long["bmi"] <= 50).all()
    with pytest.raises(InputError, match=r"^the function 'weight' predicts a number, not a class: say in which range"):
        QUICK.fit(TRAIN, weight, SCHEMA)


def test_a_range_of_a_classifier_is_refused():
    model = LogisticRegression().fit(TRAIN[["bmi"]], PROGRESS[:330] > 150)
    with pytest.raises(InputError, match=r"^LogisticRegression tells classes apart, and desired=\(low, high\) is for"):
        QUICK.fit(TRAIN, model, SCHEMA, desired=(0, 1))


def test_what_a_number_does_not_have_is_told(explainer):
    with pytest.raises(InputError, match="desired_proba is for models with probabilities; of a predicted number"):
        explainer.explain(TEST[:2], 1, desired_proba=(0.1, 0.2))
    with pytest.raises(InputError, match="robust=margin is for probabilities; for a predicted number"):
        explainer.explain(TEST[:2], 1, robust=0.1)
    with pytest.raises(InputError, match=r"desired of a predicted number is a range \(low, high\)"):
        explainer.explain(TEST[:2], 1, desired=(3, 2))
    with pytest.raises(InputError, match=r"desired of a predicted number is a range \(low, high\)"):
        explainer.explain(TEST[:2], 1, desired=120)


def test_a_number_is_not_rechecked_by_a_threshold(explainer, ridge):
    found = explainer.explain(TEST[:5], 2)
    with pytest.raises(InputError, match=r"^threshold is for models of two classes; Ridge predicts a number$"):
        l2c.recheck(found, model=ridge, threshold=0.3)


def test_where_nobody_is_inside_there_is_still_a_law_to_propose_from(ridge):
    lowest = float(ridge.predict(TRAIN).min())
    found = QUICK.fit(TRAIN, ridge, SCHEMA, desired=(None, lowest - 5)).explain(TEST[:10], 3)
    predicted = ridge.predict(found.to_frame()[ROWS.columns])
    assert len(predicted)
    assert (predicted <= lowest - 5).all()


def test_the_goal_is_kept_to_by_the_released_goal(explainer):
    released = explainer.explain(TEST[:20], 4).released
    assert isinstance(released.goal, Goal)
    assert released.classes == ("outside", "inside")
    assert set(released.predicted) == {1}


def test_on_the_command_line_the_range_is_two_numbers(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    TRAIN[:80].to_csv("train.csv", index=False)
    TEST[:6].to_csv("rows.csv", index=False)
    l2c.write_schema(SCHEMA, Path("schema.toml"))
    xgboost.XGBRegressor(n_estimators=10, max_depth=2, n_jobs=1).fit(TRAIN, PROGRESS[:330]).save_model("progress.json")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["l2c", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        assert (ended.value.code or 0, printed.err) == (0, "")
        return printed.out

    model = ["--model", "progress.json"]
    learning = ["fit", "--data", "train.csv", "--schema", "schema.toml", *model, "--out", "bundle"]
    run(*learning, "--desired-range", "-inf", "130")
    run("explain", "--bundle", "bundle", *model, "--data", "rows.csv", "--out", "found.csv", "-n", "3")
    found = pd.read_csv("found.csv")
    assert (found["prediction"] <= 130).all()
    asked = ["explain", "--bundle", "bundle", *model, "--data", "rows.csv", "--out", "found.parquet", "-n", "3"]
    run(*asked, "--desired-range", "150", "170")
    assert pd.read_parquet("found.parquet").query("rank > 0")["prediction"].between(150, 170).all()
    assert "still hold" in run("recheck", "found.parquet", *model)


def test_numbers_that_are_predicted_in_pieces_are_the_same(explainer, monkeypatch):
    expected = explainer.explain(TEST[:20], 5)
    monkeypatch.setattr(frame_model, "TOGETHER", 9)
    # A product of matrices may round otherwise in another batch.
    pd.testing.assert_frame_equal(explainer.explain(TEST[:20], 5).to_frame(), expected.to_frame(), rtol=1e-9)
