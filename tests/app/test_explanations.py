"""What `explain` returns: frames, scores, words, files."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import l2c
from l2c import Feature, Schema
from l2c.errors import DataError, InputError

NAMES = ("row", "rank", "index", "prediction", "probability", "cost")


def test_its_length_is_the_number_of_counterfactuals(explainer, german, found):
    assert len(found) == len(found.to_frame()) == 400
    assert len(explainer.explain(german.test[:3], 2)) == 6
    assert len(found.outcomes) == 40


def test_the_repr_counts_counterfactuals_rows_and_outcomes(explainer, german, found):
    assert repr(found) == "<Explanations: 400 counterfactuals for 40 rows (40 found)>"
    rows = german.test[:4].copy()
    rows.loc[2, "job"] = "pilot"
    some = explainer.explain(rows, 2, desired="good")
    assert re.fullmatch(
        r"<Explanations: \d+ counterfactuals for 4 rows \(\d already, \d found, \d bad_input\)>", repr(some)
    )


def test_the_features_alone_are_ready_for_the_model(german, model, found):
    features = found.features()
    assert features.columns.tolist() == list(german.schema.names)
    assert (model.predict(features) == found.to_frame()["prediction"]).all()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, lambda rows: pa.Table.from_pandas(rows)])
def test_a_frame_without_counterfactuals_has_the_types_of_one_with_some(explainer, german, make):
    rows = german.test[:2].drop(columns=german.target).set_index(pd.Index(["ann", "bob"]))
    rows = make(rows if make is pd.DataFrame else rows.reset_index(drop=True))
    some, none = (explainer.explain(rows, 2, lock=lock) for lock in ((), german.schema.names))
    assert (len(some), len(none)) == (4, 0)
    some, none = some.to_frame(), none.to_frame()
    if make is pd.DataFrame:
        pd.testing.assert_frame_equal(none, some[:0], check_index_type=False)
    else:
        assert none.schema == some.schema


def test_a_frame_that_is_written_to_is_not_the_one_that_is_given_next(explainer, german):
    rows = german.test[:2].drop(columns=german.target)
    found, kept = explainer.explain(rows, 3), rows.copy(deep=True)
    for ask in (found.to_frame, found.features):
        first, expected = ask(), ask()
        for name in first.columns:
            first.loc[:, name] = first[name].iloc[0]
            first.loc[0, name] = first[name].iloc[-1]
            first[name].array[:] = first[name].array[0]
        pd.testing.assert_frame_equal(ask(), expected)
    pd.testing.assert_frame_equal(rows, kept)


@pytest.mark.parametrize("rows", [1, 3])
def test_rows_that_are_written_to_afterwards_change_nothing_that_was_found(explainer, german, rows):
    given = german.test[:rows].drop(columns=german.target)
    kept, found = given.copy(deep=True), explainer.explain(given, 3)
    expected, features = explainer.explain(kept, 3).to_frame(), found.features()
    pd.testing.assert_frame_equal(given, kept)
    for name in given.columns:
        given.loc[given.index[0], name] = german.test[name].iloc[-1]
    pd.testing.assert_frame_equal(found.to_frame(), expected)
    pd.testing.assert_frame_equal(found.features(), features)
    pd.testing.assert_frame_equal(found.frame, kept)


@pytest.mark.parametrize("name", ["found.csv", "found", "found.parquet.gz"])
def test_a_found_file_is_a_parquet_file_by_its_name(explainer, german, tmp_path, name):
    found = explainer.explain(german.test[:2], 2)
    with pytest.raises(InputError, match=r"kept in a .parquet file; for another, write found.to_frame\(\)"):
        found.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_writes_to_what_it_is_shown_changes_nothing_that_is_released(explainer, german, model):
    def spoiling(frame):
        proba = model.predict_proba(frame)
        for name in frame.columns:
            frame.loc[:, name] = frame[name].iloc[0]
            frame[name].array[:] = frame[name].array[0]
        return proba

    rows = german.test[:2].drop(columns=german.target)
    blackbox = replace(explainer.blackbox, answer=spoiling)
    for twin in (explainer._twin, None):
        found = replace(explainer, blackbox=blackbox, _twin=twin).explain(rows, 3, tries=200)
        expected = replace(explainer, _twin=twin).explain(rows, 3, tries=200)
        pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame())


def test_explanations_cannot_be_changed(found):
    with pytest.raises(FrozenInstanceError):
        found.index = None


# Names of columns


def test_a_feature_keeps_its_name_and_the_bookkeeping_gives_way(tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({name: rng.normal(size=40) for name in NAMES} | {"row_": rng.normal(size=40)})
    rows.index = [f"person {i}" for i in range(40)]
    schema = Schema(tuple(Feature(name=name, kind="numeric") for name in rows.columns))
    explainer = l2c.L2C(epochs=0).fit(rows, lambda frame: 1 / (1 + np.exp(-frame.sum(axis=1))), schema)
    found = explainer.explain(rows[:5], 3)
    long = found.to_frame()
    assert long.columns.tolist() == [
        "row__", "rank_", "index_", *NAMES, "row_", "prediction_", "probability_", "cost_"
    ]  # fmt: skip
    assert long["row__"].tolist() == [row for row in range(5) for _ in range(3)]
    assert long["rank_"].tolist() == [1, 2, 3] * 5
    assert long["index_"][0] == "person 0"
    odds = long[[*NAMES, "row_"]].sum(axis=1)
    assert ((odds > 0) == (long["prediction_"] == 1)).all()
    found.write(tmp_path / "found.parquet")
    pd.testing.assert_frame_equal(l2c.read(tmp_path / "found.parquet").to_frame(), long)


# Scores


def test_scores_without_a_reference_leave_plausibility_out(german, found):
    card = found.scores()
    assert (card.plausibility, card.distance_ratio, card.plausibility_left_out) == (None, None, None)
    assert (card.validity, card.coverage, card.unary, card.binary, card.distinct) == (1, 1, 1, 1, 1)
    assert (card.immutable_violations, card.inputs, card.answered) == (0, 40, 40)
    names = list(german.schema.names)
    before = german.test[names].iloc[found.to_frame()["row"]].reset_index(drop=True)
    assert card.sparsity == pytest.approx(float((found.to_frame()[names] == before).to_numpy().mean()))
    assert card.tries == sum(outcome.tries for outcome in found.outcomes) / 400


def test_scores_with_a_reference_measure_plausibility_against_it(german, found):
    without, card = found.scores(), found.scores(german.train)
    assert 0 < card.plausibility < 1
    assert card.distance_ratio > 1
    assert card.plausibility_left_out == 0
    for name in ("validity", "sparsity", "diversity", "harmonic_mean", "tries", "statuses"):
        assert getattr(card, name) == getattr(without, name)
    real = found.scores(found.features())
    assert real.plausibility == 1
    assert real.distance_ratio == 0


def test_the_input_rows_say_how_far_apart_people_are_unless_others_are_given(german, found):
    by_default = found.scores(german.train)
    assert by_default == found.scores(german.train, held_out=german.test[:40])
    assert by_default != found.scores(german.train, held_out=german.test[100:])


def test_a_reference_that_does_not_fit_the_schema_is_refused(german, found):
    wrong = german.train.drop(columns="job")
    for frames in ({"reference": wrong}, {"reference": german.train, "held_out": wrong}):
        with pytest.raises(DataError, match=r"^column 'job' is missing, but the schema declares it$"):
            found.scores(**frames)


# Files


def test_a_file_read_back_says_the_same(found, tmp_path):
    found.write(tmp_path / "found.parquet")
    again = l2c.read(tmp_path / "found.parquet")
    pd.testing.assert_frame_equal(again.to_frame(), found.to_frame())
    assert again.outcomes == found.outcomes
    assert again.scores() == found.scores()
    assert again.notes == found.notes
    assert again.notes["seed"] == 3
    assert (repr(again), again._repr_html_()) == (repr(found), found._repr_html_())


def test_without_its_model_a_file_cannot_measure_plausibility_and_with_it_can(german, model, found, tmp_path):
    path = tmp_path / "found.parquet"
    found.write(path)
    with pytest.raises(InputError) as caught:
        l2c.read(path).scores(german.train)
    assert str(caught.value) == "plausibility asks the model about the reference rows: l2c.read(path, model=model)"
    assert l2c.read(path, model=model).scores(german.train) == found.scores(german.train)


# In a notebook


def cells_of(html):
    """Return each table of a piece of HTML as lines of (text, marked)."""
    tables = []
    for table in re.findall(r"<table>(.*?)</table>", html):
        lines = re.findall(r"<tr><th style='text-align:left'>.*?</th>(.*?)</tr>", table)
        tables.append(
            [[(text, bool(style)) for style, text in re.findall(r"<td( style.*?)?>(.*?)</td>", line)] for line in lines]
        )
    return tables


def test_in_a_notebook_three_rows_are_shown_with_five_counterfactuals_and_the_changed_cells_marked(german, found):
    tables = cells_of(found._repr_html_())
    long, names = found.to_frame(), list(german.schema.names)
    assert [[len(line) for line in table] for table in tables] == [[6] * len(names)] * 3
    for row, table in enumerate(tables):
        shown = long[long["row"] == row][:5]
        for name, ((_, original_marked), *others) in zip(names, table, strict=True):
            assert not original_marked
            assert [marked for _, marked in others] == (shown[name] != german.test[name][row]).tolist()


def test_html_in_names_labels_and_classes_is_escaped():
    levels = ("<script>alert(1)</script>", "a & b", "c")
    schema = Schema(
        (
            Feature(name="x", kind="categorical", levels=levels, label="<b>bold</b>", unit="<i>"),
            Feature(name="y", kind="binary", levels=(0, 1)),
        )
    )
    rows = pd.DataFrame({"x": [*levels, *levels, *levels, *levels], "y": [0, 1] * 6})

    def judge(frame):
        return np.where(frame["x"] == "c", 0.9, 0.1)

    judge.classes = ("<no>", "<yes>")
    html = l2c.L2C(epochs=0).fit(rows, judge, schema).explain(rows[:4], 2)._repr_html_()
    for raw in ("<script", "<b>", "<i>", "<no>", "<yes>", "a & b", "<Explanations"):
        assert raw not in html
    for escaped in ("&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;b&gt;bold&lt;/b&gt; (&lt;i&gt;)", "now: &lt;no&gt;"):
        assert escaped in html


def test_nothing_found_is_shown_as_a_sentence_without_a_table(explainer, german):
    nothing = explainer.explain(german.test[:2].assign(job="pilot"), 3)
    assert nothing._repr_html_() == (
        "<div><p>&lt;Explanations: 0 counterfactuals for 2 rows (2 bad_input)&gt;</p></div>"
    )
