"""Which stored counterfactuals still hold under a new version of the model, judged again from scratch."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import l2c
from l2c.app import cli, service
from l2c.errors import InputError, ModelError, OtherModelError, StoredFileError

QUICK = l2c.L2C(epochs=0, select="first")
rng = np.random.default_rng(7)
ROWS = pd.DataFrame(
    {
        "age": rng.integers(18, 80, 160),
        "debt": rng.normal(20, 7, 160).round(1),
        "job": rng.choice(["clerk", "cook", "nurse"], 160),
    },
    index=[f"person {number}" for number in range(160)],
)
SCHEMA = l2c.Schema.infer(ROWS)
NUMBERS = ["age", "debt"]


def scored(age, debt, shift=0.0):
    def model(frame):
        odds = age * (np.asarray(frame["age"], float) - 45) + debt * (np.asarray(frame["debt"], float) - 20) + shift
        return 1 / (1 + np.exp(-odds))

    model.classes = ("no", "yes")
    return model


FIRST, SECOND, NEVER = scored(0.05, -0.15), scored(0.02, -0.2, 0.3), scored(0.0, 0.0, -9.0)


@pytest.fixture(scope="module")
def explainer():
    return QUICK.fit(ROWS, FIRST, SCHEMA)


@pytest.fixture(scope="module")
def found(explainer):
    return explainer.explain(ROWS[:40], 6)


def from_scratch(long, model):
    return (np.where(model(long) > 0.5, "yes", "no") == long["prediction"]).to_numpy()


def test_under_the_same_model_all_hold(found):
    checked = l2c.recheck(found, model=FIRST)
    assert checked.all_hold
    assert checked.sentence == f"all {len(found)} counterfactuals of 40 people still hold"
    assert checked.affected == ()
    assert len(checked.lost()) == 0
    assert repr(checked) == f"<Recheck: {checked.sentence}>"


def test_under_a_new_version_those_are_lost_that_it_judges_otherwise(found):
    checked, long = l2c.recheck(found, model=SECOND), found.to_frame()
    expected = from_scratch(long, SECOND)
    assert checked.holds.tolist() == expected.tolist()
    assert 0 < (~expected).sum() < len(expected)
    frame = checked.to_frame()
    assert frame["holds"].tolist() == expected.tolist()
    assert frame["prediction"].tolist() == np.where(SECOND(long) > 0.5, "yes", "no").tolist()
    np.testing.assert_allclose(
        frame["probability"], np.where(long["prediction"] == "yes", SECOND(long), 1 - SECOND(long))
    )
    assert frame[["row", "rank", "index", *ROWS.columns]].equals(long[["row", "rank", "index", *ROWS.columns]])
    lost = checked.lost()
    assert lost[["row", "rank"]].to_numpy().tolist() == long[~expected][["row", "rank"]].to_numpy().tolist()


def test_it_is_told_by_person(found):
    checked, long = l2c.recheck(found, model=SECOND), found.to_frame()
    holds = pd.Series(from_scratch(long, SECOND)).groupby(long["row"])
    by_person = checked.by_person()
    assert by_person["row"].tolist() == list(holds.groups)
    assert by_person["index"].tolist() == [ROWS.index[row] for row in holds.groups]
    assert by_person["counterfactuals"].tolist() == holds.size().tolist()
    assert by_person["holding"].tolist() == holds.sum().tolist()
    assert (by_person["holding"] + by_person["lost"]).tolist() == by_person["counterfactuals"].tolist()
    affected = [row for row, group in holds if not group.all()]
    assert [person.row for person in checked.affected] == affected
    for person in checked.affected:
        mine = long[long["row"] == person.row]
        assert list(person.lost) == mine["rank"][~from_scratch(mine, SECOND)].tolist()


def test_it_is_told_in_numbers_and_in_a_sentence(found):
    data = l2c.recheck(found, model=SECOND).to_dict()
    holds = from_scratch(found.to_frame(), SECOND)
    groups = pd.Series(holds).groupby(found.to_frame()["row"].to_numpy())
    assert json.loads(json.dumps(data)) == data
    assert (data["counterfactuals"], data["holding"], data["lost"]) == (len(holds), holds.sum(), (~holds).sum())
    assert (data["people"], data["people_affected"]) == (40, int((~groups.all()).sum()))
    assert data["people_without_any"] == int((~groups.any()).sum())
    assert len(data["affected"]) == data["people_affected"]
    assert data["affected"][0]["index"].startswith("person ")
    assert data["sentence"] == (
        f"{data['holding']} of {len(holds)} counterfactuals still hold; {data['people_affected']} of 40 people lost at "
        f"least one, {data['people_without_any']} of them all"
    )


def test_a_file_is_read_and_says_the_same(found, tmp_path):
    found.write(tmp_path / "found.parquet")
    stored = l2c.recheck(tmp_path / "found.parquet", model=SECOND)
    assert stored.holds.tolist() == l2c.recheck(found, model=SECOND).holds.tolist()
    assert stored.to_frame().equals(l2c.recheck(found, model=SECOND).to_frame())
    with pytest.raises(StoredFileError, match="there is no file"):
        l2c.recheck(tmp_path / "other.parquet", model=SECOND)


def test_frames_of_another_kind_stay_of_that_kind():
    rows = pl.from_pandas(ROWS)

    def model(frame):
        return FIRST(frame.to_pandas())

    def second(frame):
        return SECOND(frame.to_pandas())

    model.classes = second.classes = ("no", "yes")
    found = QUICK.fit(rows, model, l2c.Schema.infer(rows)).explain(rows[:20], 4)
    checked = l2c.recheck(found, model=second)
    assert isinstance(checked.to_frame(), pl.DataFrame)
    assert isinstance(checked.by_person(), pl.DataFrame)
    assert checked.lost().height == int((~checked.holds).sum()) > 0
    assert checked.holds.tolist() == from_scratch(found.to_frame().to_pandas(), SECOND).tolist()


def test_several_classes_and_ranges_of_probability_are_goals_too(tmp_path):
    labels = np.digitize(FIRST(ROWS), [0.33, 0.66])
    first = LogisticRegression(max_iter=2000).fit(ROWS[NUMBERS], labels)
    second = LogisticRegression(max_iter=2000).fit(ROWS[NUMBERS][:60], labels[:60])
    explainer = QUICK.fit(ROWS, first, SCHEMA)
    either = explainer.explain(ROWS[:30], 4, desired=[0, 2])
    either.write(tmp_path / "either.parquet")
    checked = l2c.recheck(tmp_path / "either.parquet", model=second)
    assert checked.holds.tolist() == np.isin(second.predict(either.to_frame()[NUMBERS]), [0, 2]).tolist()
    assert not checked.all_hold
    ranged = explainer.explain(ROWS[:30], 4, desired=2, desired_proba=(0.4, 0.7))
    proba = second.predict_proba(ranged.to_frame()[NUMBERS])[:, 2]
    checked = l2c.recheck(ranged, model=second)
    assert checked.holds.tolist() == ((proba >= 0.4) & (proba <= 0.7)).tolist()
    assert not checked.all_hold


def test_a_range_of_a_number_is_a_goal_too(tmp_path):
    numbers = 100 * FIRST(ROWS)
    first = LinearRegression().fit(ROWS[NUMBERS], numbers)
    second = LinearRegression().fit(ROWS[NUMBERS][:30], numbers[:30] + 10)
    found = QUICK.fit(ROWS, first, SCHEMA, desired=(60, 80)).explain(ROWS[:30], 4)
    found.write(tmp_path / "found.parquet")
    checked = l2c.recheck(tmp_path / "found.parquet", model=second)
    predicted = second.predict(found.to_frame()[NUMBERS])
    assert checked.holds.tolist() == ((predicted >= 60) & (predicted <= 80)).tolist()
    assert not checked.all_hold
    np.testing.assert_allclose(checked.to_frame()["prediction"], predicted)
    assert "probability" not in checked.to_frame()
    with pytest.raises(InputError, match="tells classes apart"):
        l2c.recheck(found, model=LogisticRegression().fit(ROWS[NUMBERS], numbers > 50))


def test_a_margin_is_there_to_be_used_up(explainer):
    found = explainer.explain(ROWS[:30], 4, robust=0.2)
    less = scored(0.05, -0.15, 0.5)
    checked, long = l2c.recheck(found, model=less), found.to_frame()
    own = np.where(long["prediction"] == "yes", less(long), 1 - less(long))
    assert (own < 0.7).any()
    assert checked.holds.tolist() == (own > 0.5).tolist()


def test_classes_are_matched_by_their_labels(found):
    def turned(frame):
        return np.stack([SECOND(frame), 1 - SECOND(frame)], axis=1)

    turned.classes = ("yes", "no")
    assert l2c.recheck(found, model=turned).holds.tolist() == l2c.recheck(found, model=SECOND).holds.tolist()

    def renamed(frame):
        return SECOND(frame)

    renamed.classes = ("refused", "granted")
    with pytest.raises(OtherModelError) as told:
        l2c.recheck(found, model=renamed)
    assert str(told.value) == (
        "the explanations are about the classes 'no', 'yes', and this model has 'refused', 'granted'; "
        "a version of a model has the same"
    )


def test_without_counterfactuals_there_is_nothing_to_check(explainer):
    rows = ROWS[FIRST(ROWS) > 0.5][:5]
    checked = l2c.recheck(explainer.explain(rows, 3, desired="yes"), model=NEVER)
    assert (checked.all_hold, checked.sentence) == (True, "there are no counterfactuals to check")
    assert checked.to_dict()["people"] == 0
    assert len(checked.by_person()) == 0


def test_a_version_that_changes_its_mind_is_not_believed(found):
    source = np.random.default_rng(0)

    def moody(frame):
        return source.random(len(frame))

    moody.classes = ("no", "yes")
    with pytest.raises(ModelError, match="the model is not steady"):
        l2c.recheck(found, model=moody)


# The command line

MODULE = """
import numpy as np

def scored(age, debt, shift, classes=("no", "yes")):
    def model(frame):
        return 1 / (1 + np.exp(-(age * (frame["age"] - 45) + debt * (frame["debt"] - 20) + shift)))
    model.classes = classes
    return model

first, second = scored(0.05, -0.15, 0.0), scored(0.02, -0.2, 0.3)
other = scored(0.02, -0.2, 0.3, ("refused", "granted"))
"""


@pytest.fixture
def run(found, tmp_path, monkeypatch, capsys):
    (tmp_path / "recheck_models.py").write_text(MODULE)
    found.write(tmp_path / "found.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "recheck_models", raising=False)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["l2c", "recheck", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return run


def test_the_command_ends_with_0_if_all_hold(run, found):
    code, out, err = run("found.parquet", "--model", "recheck_models:first")
    assert (code, err) == (0, "")
    assert out == f"found.parquet: all {len(found)} counterfactuals of 40 people still hold\n"


def test_the_command_ends_with_2_and_tells_whom_it_concerns(run, found):
    checked = l2c.recheck(found, model=SECOND)
    code, out, err = run("found.parquet", "--model", "recheck_models:second", "--out", "lost.csv")
    lines = out.splitlines()
    assert (code, err) == (2, "")
    assert lines[0] == f"found.parquet: {checked.sentence}"
    assert lines[1:11] == [f"  {person.sentence}" for person in checked.affected[:10]]
    assert lines[11:] == [f"  … and {len(checked.affected) - 10} more; --json lists them all"]
    lost = pd.read_csv("lost.csv")
    assert lost["row"].tolist() == checked.lost()["row"].tolist()
    assert not lost["holds"].any()


def test_the_command_prints_json(run, found):
    code, out, _ = run("found.parquet", "--model", "recheck_models:second", "--json")
    assert code == 2
    assert json.loads(out) == l2c.recheck(found, model=SECOND).to_dict()


def test_the_command_takes_a_threshold(run):
    code, out, _ = run("found.parquet", "--model", "recheck_models:first", "--threshold", "0.9", "--json")
    assert code == 2
    assert json.loads(out)["lost"] > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["other.parquet", "--model", "recheck_models:first"], "there is no file 'other.parquet'"),
        (["found.parquet", "--model", "recheck_models:third"], "there is no 'third' in it"),
        (["found.parquet", "--model", "model.pkl"], "a pickle is never loaded"),
        (["found.parquet", "--model", "model.onnx"], "there is no such file"),
        (["found.parquet", "--model", "recheck_models:other"], "this model has 'refused', 'granted'"),
        (["found.parquet", "--model", "recheck_models:first", "--out", "lost.txt"], "expected a .parquet or .csv file"),
        (["recheck_models.py", "--model", "recheck_models:first"], "is damaged or no Parquet file"),
    ],
)
def test_what_goes_wrong_is_told_and_the_command_ends_with_1(run, arguments, sentence):
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert sentence in err


def test_a_person_without_a_label_is_told_by_row(explainer):
    rows = ROWS[:5].reset_index(drop=True)
    checked = l2c.recheck(explainer.explain(rows, 3), model=NEVER)
    assert all("index" not in person for person in checked.to_dict()["affected"])
    assert checked.affected[0].sentence in (
        f"row {checked.affected[0].row}: none of 3 holds",
        f"row {checked.affected[0].row}: 1 of 3 no longer hold, rank 1",
    )
    assert "index" not in checked.by_person()


def test_the_service_checks_where_to_write_before_it_works(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        service.recheck_file(tmp_path / "found.parquet", "nothing:here", tmp_path / "no" / "lost.csv")
