"""The work of each command on files, without a terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import l2c
from l2c.adapters import frames
from l2c.app import service
from l2c.errors import DataError, InputError, SchemaError

MODULE = """
import numpy as np

def by_credit(frame):
    return 1 / (1 + np.exp((frame["credit_amount"] - 2500) / 1000))

def by_grade(frame):
    return np.where(frame["grade"] == "1", 0.1, 0.9)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return the current folder, with a module of models in it that is forgotten afterwards."""
    (tmp_path / "service_models.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "service_models", raising=False)
    yield tmp_path
    sys.modules.pop("service_models", None)


def fit(data, schema, out, model="service_models:by_credit"):
    return service.fit_bundle(Path(data), Path(schema), model, Path(out), preset="default", seed=0, progress=None)


def explain(data, out, bundle="bundle", model="service_models:by_credit", n=3, **wish):
    request = service.TypedRequest(n=n, seed=0, wish=service.TypedWish(**wish))
    return service.explain_file(Path(bundle), model, Path(data), Path(out), request, seconds=None, progress=None)


# The embedded data sets as files


@pytest.mark.parametrize("name", l2c.datasets.names())
def test_an_exported_data_set_reads_back_as_it_was(name, tmp_path):
    data = l2c.datasets.load(name)
    files = service.export_dataset(name, tmp_path / "new" / "folder")
    assert l2c.read_schema(files.schema) == data.schema
    for path, rows in ((files.train, data.train), (files.test, data.test)):
        assert path.name == f"{name}_{'train' if path == files.train else 'test'}.csv"
        if len(rows):
            pd.testing.assert_frame_equal(frames.read_file(path), rows)
            pd.testing.assert_frame_equal(frames.read_file(path, data.schema), rows)
        else:
            assert path.read_text().splitlines() == [",".join(rows.columns)]


def test_a_level_called_none_is_a_word_and_not_a_missing_value(tmp_path):
    train = frames.read_file(service.export_dataset("german", tmp_path).train)
    assert (train["other_debtors"] == "none").sum() > 0
    assert not train.isna().any().any()


def test_an_unknown_data_set_is_refused_and_no_folder_made(tmp_path):
    with pytest.raises(InputError, match=r"^there is no data set 'germany'; did you mean 'german'\?$"):
        service.export_dataset("germany", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


# Schemas


def test_a_schema_is_inferred_and_written(tmp_path):
    rows = pd.DataFrame({"age": range(30), "sex": ["f", "m"] * 15, "pay": np.linspace(0, 1, 30), "ok": [0, 1] * 15})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    schema = service.infer_schema(
        tmp_path / "rows.csv", tmp_path / "schema.toml", target="ok", immutable=["sex"], rises=["age"],
        falls=["pay"], quasi=["age"], sensitive=["pay"], bins=3,
    )  # fmt: skip
    assert l2c.read_schema(tmp_path / "schema.toml") == schema
    assert [(feature.name, feature.moves, feature.role) for feature in schema.features] == [
        ("age", "rises", "quasi"),
        ("sex", "never", "plain"),
        ("pay", "falls", "sensitive"),
    ]
    assert (schema.target, schema["pay"].binning) == ("ok", l2c.EqualFrequency(3))


def test_a_schema_that_cannot_be_is_not_written(tmp_path):
    pd.DataFrame({"age": range(30), "ok": [0, 1] * 15}).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(SchemaError, match=r"^there is no column 'agee'; did you mean 'age'\?$"):
        service.infer_schema(tmp_path / "rows.csv", tmp_path / "schema.toml", target="ok", rises=["agee"])
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


# Fit and explain


@pytest.fixture
def bundle(here):
    service.export_dataset("german", here)
    pd.read_csv("german_train.csv")[:60].to_csv("few.csv", index=False)
    fit("few.csv", "german_schema.toml", "bundle")
    return here


def test_a_bundle_is_fitted_and_rows_are_explained_from_it(bundle):
    found = explain("german_test.csv", "found.parquet")
    assert len(found) == 600
    assert service.status_counts(found) == {"found": 200}
    again = l2c.read("found.parquet")
    pd.testing.assert_frame_equal(again.to_frame(), found.to_frame())
    explain("german_test.csv", "found.csv")
    pd.testing.assert_frame_equal(pd.read_csv("found.csv"), found.to_frame())
    assert (bundle / "bundle" / "manifest.json").is_file()


def test_the_paper_preset_is_used_when_asked_for(here):
    service.export_dataset("german", here)
    data = l2c.datasets.load("german")
    data.train[:60].to_csv("few.csv", index=False)
    model = "service_models:by_credit"
    paths = (Path("few.csv"), Path("german_schema.toml"), model, Path("bundle"))
    recipe = service.fit_bundle(*paths, preset="paper", seed=0, progress=None).bundle.counterer.recipe
    assert (recipe.epochs, recipe.learning_rate, recipe.decode) == (200, 1e-4, "midpoint")
    recipe = service.fit_bundle(*paths, preset="default", seed=0, progress=None).bundle.counterer.recipe
    assert (recipe.epochs, recipe.learning_rate, recipe.decode) == (l2c.L2C().epochs, 2e-3, l2c.L2C().decode)


def test_the_desired_class_is_found_by_what_it_reads_like(bundle):
    found = explain("german_test.csv", "found.csv", desired=["1"])
    assert set(found.to_frame()["prediction"]) == {1}
    assert service.status_counts(found)["already"] > 0
    with pytest.raises(InputError) as caught:
        explain("german_test.csv", "other.csv", desired=["yes"])
    assert str(caught.value) == "--desired 'yes' is no class of the model: 0, 1"
    assert not (bundle / "other.csv").exists()


@pytest.mark.usefixtures("bundle")
def test_typed_limits_are_kept_and_rows_that_fall_short_are_told_with_their_reason():
    pd.read_csv("german_test.csv")[:20].to_csv("some.csv", index=False)
    rows = pd.read_csv("some.csv")
    found = explain(
        "some.csv", "found.parquet", n=2, max_changes=2, lock=["purpose"], permit=["duration=6:24"],
        forbid=["job:*>manager or highly qualified"], where=["age <= was.age + 10"],
    )  # fmt: skip
    long = found.to_frame()
    was = rows.iloc[long["row"]].reset_index(drop=True)
    names = list(found.schema.names)
    assert ((long[names] != was[names]).sum(axis=1) <= 2).all()
    assert (long["purpose"] == was["purpose"]).all()
    assert long["duration"][long["duration"] != was["duration"]].between(6, 24).all()
    assert (long["age"] <= was["age"] + 10).all()
    short = [row for row, outcome in enumerate(found.outcomes) if outcome.status != "found"]
    told = service.shortfalls(found, 2)
    assert told[:2] == [f"row {row}: {found.outcomes[row].sentence}" for row in short[:2]]
    assert told[2:] == ([f"… and {len(short) - 2} more rows; the file has a sentence for each"] if short[2:] else [])
    assert l2c.read("found.parquet").outcomes == found.outcomes


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        ("found.txt", "--out 'found.txt': expected a .parquet or .csv file"),
        ("found", "--out 'found': expected a .parquet or .csv file; a folder is what `l2c explain --stream` writes"),
        ("nowhere/found.csv", "--out 'nowhere/found.csv': there is no folder 'nowhere'"),
    ],
)
@pytest.mark.usefixtures("here")
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(out, sentence):
    with pytest.raises(InputError) as caught:
        explain("no rows.csv", out, bundle="no bundle")
    assert str(caught.value) == sentence


def test_rows_that_are_no_file_are_refused_with_the_nearest_name(bundle):
    with pytest.raises(DataError, match=r"^there is no file 'german_tset.csv'; did you mean 'german_test.csv'\?$"):
        explain("german_tset.csv", "found.csv")
    assert not (bundle / "found.csv").exists()


@pytest.mark.usefixtures("here")
def test_texts_that_look_like_numbers_stay_texts_even_in_a_file_of_one_row():
    rows = pd.DataFrame({"grade": ["1", "2", "2 or 3"] * 10, "age": [*range(30)]})
    rows.to_csv("rows.csv", index=False)
    service.infer_schema(Path("rows.csv"), Path("schema.toml"), target=None)
    assert l2c.read_schema("schema.toml")["grade"].levels == ("1", "2", "2 or 3")
    fit("rows.csv", "schema.toml", "bundle", model="service_models:by_grade")
    rows[:1].to_csv("one.csv", index=False)
    found = explain("one.csv", "found.csv", model="service_models:by_grade")
    assert [outcome.status for outcome in found.outcomes] == ["found"]
    assert set(found.to_frame()["grade"]) <= {"2", "2 or 3"}


def test_a_failed_fit_leaves_no_bundle(here):
    service.export_dataset("german", here)
    pd.read_csv("german_train.csv").assign(job="pilot").to_csv("bad.csv", index=False)
    with pytest.raises(DataError, match=r"^21 problems:\n  - column 'job', row 0: 'pilot' is not a known level"):
        fit("bad.csv", "german_schema.toml", "bundle")
    assert not (here / "bundle").exists()
