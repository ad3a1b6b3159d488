"""Interval releases: nothing leaves but public intervals, and what nobody but the key decides."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import l2c
from l2c import L2C, Edges, EqualFrequency, Limits, ZeroOrPositive
from l2c.errors import InputError
from loans import SCHEMA, applicants, graded, granted, refused, standing, worst

KEY = bytes(range(32))
CUTS = {"age": (30.0, 45.0, 60.0), "hours": (24.25, 32.5, 40.0), "savings": (15.0, 40.0, 80.0)}


def public(schema: l2c.Schema = SCHEMA) -> l2c.Schema:
    for name, cuts in CUTS.items():
        schema = schema.edit(name, binning=Edges(cuts))
    return schema


@cache
def desk() -> l2c.Explainer:
    quick = L2C(select="first", model_rows=0)
    return quick.fit(applicants(300), granted, public(), release="intervals", key=KEY)


def jittered(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return rows with every number moved at random inside its interval, the outermost ones farthest."""
    rng, moved = np.random.default_rng(seed), rows.copy()
    for name, cuts in CUTS.items():
        values = rows[name].to_numpy(float)
        level = np.searchsorted(cuts, values)
        low, high = np.array([-500.0, *cuts])[level], np.array([*cuts, 900.0])[level]
        drawn = high - rng.random(len(rows)) * (high - low)
        moved[name] = np.ceil(drawn).astype(np.int64) if name == "age" else drawn
    return moved


def everything(found: l2c.Explanations, tmp_path) -> tuple[bytes, str, str, str, str]:
    """Return all that leaves: the file, the frames, the notebook's view, the outcomes."""
    path = tmp_path / "found.parquet"
    found.write(path)
    frames = found.to_frame().to_csv(), found.representatives().to_csv()
    return path.read_bytes(), *frames, found._repr_html_(), repr(found.outcomes)


def test_numbers_are_told_by_intervals_and_the_rest_by_levels():
    rows = refused(4)
    found = desk().explain(rows, 6, release="intervals")
    told = found.to_frame()
    assert {"row", "rank", "age", "prediction", "probability", "cost", "share_valid"} <= set(told.columns)
    assert set(told["age"]) <= {"up to 30", "(30, 45]", "(45, 60]", "over 60"}
    assert set(told["hours"]) <= {"[0, 24.25]", "(24.25, 32.5]", "(32.5, 40]", "(40, 80]"}
    assert set(told["job"]) <= {"clerk", "nurse", "cook", "pilot"}
    assert (told["prediction"] == "granted").all()
    assert "share_valid" not in desk().explain(rows, 6).to_frame().columns


def test_what_stands_for_an_interval_was_judged_and_lies_in_it():
    found = desk().explain(refused(6), 8, release="intervals")
    stand_ins, told = found.representatives(), found.to_frame()
    assert (granted(stand_ins) > 0.5).all()
    assert np.allclose(granted(stand_ins), told["probability"])
    for name, cuts in CUTS.items():
        axis = desk().layout.axes[SCHEMA.index(name)]
        levels = np.searchsorted(cuts, stand_ins[name].to_numpy(float))
        assert stand_ins[name].tolist() == [axis.midpoint[level] for level in levels]


def test_the_share_of_the_box_that_holds_is_about_that_of_random_points():
    found = desk().explain(refused(2), 5, release="intervals")
    told, rng = found.to_frame(), np.random.default_rng(0)
    for place, row in enumerate(found.representatives().to_dict("records")):
        many = pd.DataFrame([row] * 4000)
        for name, cuts in CUTS.items():
            ends = {"age": (15, 75), "hours": (0, 80), "savings": (-10, 120)}[name]
            level = int(np.searchsorted(cuts, row[name]))
            low, high = [ends[0], *cuts][level], [*cuts, ends[1]][level]
            many[name] = rng.uniform(low, high, 4000)
        assert abs((granted(many) > 0.5).mean() - told["share_valid"][place]) < 0.25
    assert told["share_valid"].between(0, 1).all()


def test_the_answer_is_about_the_generalised_row():
    rows = applicants(200, seed=5)
    found = desk().explain(rows, 1, release="intervals", desired="granted", reasons=False)
    generalised = granted(found.frame) > 0.5
    assert [outcome.status == "already" for outcome in found.outcomes] == generalised.tolist()
    assert (generalised != (granted(rows) > 0.5)).any()


def test_another_number_in_the_same_interval_gets_the_same_bytes(tmp_path):
    rows = refused(5)
    answers = [everything(desk().explain(jittered(rows, seed), 4, release="intervals"), tmp_path) for seed in (0, 1)]
    assert answers[0] == answers[1]
    assert everything(desk().explain(rows, 4, release="intervals"), tmp_path) == answers[0]


def test_an_answer_does_not_depend_on_its_company_nor_on_its_index():
    rows = refused(5)
    together = desk().explain(rows, 4, release="intervals").to_frame()
    alone = desk().explain(rows[3:4].set_axis(["Ann"]), 4, release="intervals").to_frame()
    assert together[together["row"] == 3].drop(columns="row").reset_index(drop=True).equals(alone.drop(columns="row"))
    assert "index" not in alone.columns


def test_another_key_draws_other_answers():
    secret = replace(desk().bundle.secret, key=KEY[:16] + bytes(16))  # the half that draws
    other = replace(desk(), bundle=replace(desk().bundle, secret=secret))
    one, two = (explainer.explain(refused(5), 4, release="intervals").to_frame() for explainer in (desk(), other))
    assert not one.equals(two)


def test_turning_the_dial_a_little_draws_from_the_same_stream():
    one, two = (desk().explain(refused(3), 4, release="intervals", plausibility=dial) for dial in (0.5, 0.5000001))
    assert one.to_frame().equals(two.to_frame())


def test_nothing_that_was_learned_depends_on_numbers_inside_their_intervals(tmp_path):
    train, taught = applicants(150), L2C(epochs=1, hidden=8, model_rows=2000)
    explainers = [
        taught.fit(rows[:110], granted, public(), dev=rows[110:], release="intervals", key=KEY)
        for rows in (train, jittered(train, 3))
    ]
    for explainer, name in zip(explainers, ("one", "two"), strict=True):
        explainer.save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert "secret.safetensors" in files
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    one, two = (explainer.explain(refused(5), 4, release="intervals") for explainer in explainers)
    assert everything(one, tmp_path) == everything(two, tmp_path)
    values = [taught.fit(rows, granted, public()) for rows in (train, jittered(train, 3))]
    assert values[0].layout != values[1].layout  # a fit for values does depend on them


def test_no_number_of_the_caller_comes_back(tmp_path):
    rows = refused(6)
    canaries = {"age": 33 + np.zeros(6, np.int64), "hours": 31.4159265, "savings": 27.1828182}
    found = desk().explain(rows.assign(**canaries), 5, release="intervals")
    content, *texts = everything(found, tmp_path)
    for text in texts:
        assert "31.4159" not in text
        assert "27.1828" not in text
    for number in (31.4159265, 27.1828182):
        assert np.float64(number).tobytes() not in content
    stored = pd.read_parquet(tmp_path / "found.parquet")
    assert not stored.isin([33, 31.4159265, 27.1828182]).any().any()


def test_a_found_file_tells_intervals_and_comes_back(tmp_path):
    found = desk().explain(refused(4), 3, release="intervals")
    found.write(tmp_path / "found.parquet")
    back = l2c.read(tmp_path / "found.parquet", model=granted)
    assert back.to_frame().equals(found.to_frame())
    assert back.representatives().equals(found.representatives())
    assert back.outcomes == found.outcomes
    stored = pd.read_parquet(tmp_path / "found.parquet")
    assert set(stored["age"]) <= {"up to 30", "(30, 45]", "(45, 60]", "over 60"}
    assert set(stored["age.representative"]) <= {22, 38, 52, 68}
    assert "seed" not in back.notes
    assert back.notes["release"] == "intervals"
    checked = l2c.recheck(tmp_path / "found.parquet", model=graded_as_granted)
    assert set(checked.to_frame()["age"]) <= {"up to 30", "(30, 45]", "(45, 60]", "over 60"}


def graded_as_granted(frame):
    """Return another opinion on a loan."""
    return graded(frame)[:, 2]


graded_as_granted.classes = granted.classes


def test_the_notebook_shows_intervals():
    shown = desk().explain(refused(1), 3, release="intervals")._repr_html_()
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", shown)
    assert any(cell in ("up to 30", "(30, 45]", "(45, 60]", "over 60") for cell in cells)
    assert not any(re.fullmatch(r"[\d.,]+", cell) for cell in cells)


def test_a_row_that_cannot_be_read_is_not_repeated(tmp_path):
    rows = refused(3).astype({"job": object, "age": float})
    rows.loc[1, "job"] = "spy 007"
    rows.loc[2, "age"] = 41.777
    rows.loc[2, "job"] = "agent 99"
    found = desk().explain(rows, 2, release="intervals")
    assert [outcome.status for outcome in found.outcomes] == ["found", "bad_input", "bad_input"]
    assert found.outcomes[1].sentence == (
        "column 'job', row 1: it cannot be read, and an interval release does not repeat what was given"
    )
    content, *texts = everything(found, tmp_path)
    for secret in ("spy", "41.777", "agent"):
        assert secret.encode() not in content
        assert not any(secret in text for text in texts)
    assert l2c.read(tmp_path / "found.parquet").to_frame().equals(found.to_frame())
    assert np.isnan(l2c.read(tmp_path / "found.parquet").released.factual[1:]).all()
    ours = desk().explain(rows, 2)
    assert "spy 007" in ours.outcomes[1].sentence


def test_polars_and_arrow_go_in_and_come_out():
    rows = refused(4)
    ours = desk().explain(rows, 3, release="intervals").to_frame()
    polars = desk().explain(pl.from_pandas(rows), 3, release="intervals").to_frame()
    arrow = desk().explain(pa.Table.from_pandas(rows), 3, release="intervals").to_frame()
    assert isinstance(polars, pl.DataFrame)
    assert isinstance(arrow, pa.Table)
    assert polars.to_dict(as_series=False) == arrow.to_pydict() == ours.to_dict("list")


def test_what_is_missing_is_told_so():
    schema = public().edit("savings", missing=True).edit("age", missing=True).edit("job", missing=True)
    train = applicants(150).astype({"age": float})
    train.loc[::7, ["savings", "job"]] = None

    def model(frame):
        return granted(frame.fillna({"savings": 10.0, "job": "clerk", "age": 40}))

    explainer = L2C(select="first", model_rows=0).fit(train, model, schema, release="intervals")
    rows = refused(4).assign(savings=np.nan, job=None)
    found = explainer.explain(rows, 4, release="intervals", lock=["savings", "job"])
    assert set(found.to_frame()["savings"]) == {"missing"}
    assert found.to_frame()["job"].isna().all()
    other = pl.from_pandas(rows.assign(age=np.nan))
    assert set(explainer.explain(other, 2, release="intervals").to_frame()["age"]) == {"missing"}


def test_limits_hold_for_whole_intervals():
    rows = refused(12)
    found = desk().explain(rows, 5, release="intervals", permit={"hours": (30, 80), "savings": (16, None)})
    told, was = found.to_frame(), desk().explain(rows, 1).frame
    hours = np.array(["[0, 24.25]", "(24.25, 32.5]", "(32.5, 40]", "(40, 80]"])
    own = hours[np.searchsorted(CUTS["hours"], was["hours"].to_numpy()[told["row"]])]
    changed = told["hours"].to_numpy() != own
    assert changed.any()
    assert set(told["hours"][changed]) <= {"(32.5, 40]", "(40, 80]"}
    by_row = desk().explain(rows, 5, release="intervals", limits=[{"permit": {"hours": (39, 80)}}] * 12, reasons=False)
    own = hours[np.searchsorted(CUTS["hours"], was["hours"].to_numpy()[by_row.to_frame()["row"]])]
    assert set(by_row.to_frame()["hours"][by_row.to_frame()["hours"].to_numpy() != own]) == {"(40, 80]"}
    ages = found.to_frame()["age"].map({"up to 30": 0, "(30, 45]": 1, "(45, 60]": 2, "over 60": 3})
    assert (ages.to_numpy() >= np.searchsorted(CUTS["age"], rows["age"].to_numpy()[told["row"]])).all()


def test_a_condition_counts_in_the_share():
    rows = refused(3)
    plain, asked = (
        desk().explain(rows, 4, release="intervals", where=where).to_frame() for where in (None, "savings >= 60")
    )
    assert plain["share_valid"].max() <= 1
    touched = asked[asked["savings"] == "(40, 80]"]
    assert len(touched)
    assert touched["share_valid"].max() < 1


def test_standing_limits_hold_for_whole_intervals_too():
    limited = standing(desk(), Limits(permit={"hours": (40.5, 80)}))
    with pytest.raises(InputError, match=r"permit 'hours': no interval lies within 40\.5 to 80"):
        limited.explain(refused(2), 2, release="intervals")
    kept = standing(desk(), Limits(permit={"hours": (39, 80)}))
    rows = refused(6)
    told = kept.explain(rows, 4, release="intervals").to_frame()
    own = np.searchsorted(CUTS["hours"], rows["hours"].to_numpy()[told["row"]])
    level = told["hours"].map({"[0, 24.25]": 0, "(24.25, 32.5]": 1, "(32.5, 40]": 2, "(40, 80]": 3}).to_numpy()
    assert ((level == own) | (level == 3)).all()


def test_an_explainer_prints_neither_its_key_nor_its_rows():
    told = repr(desk())
    assert repr(KEY)[2:20] not in told
    assert "Secret()" in told
    assert "_fit_rows" not in told


def test_no_training_row_is_published_again():
    found = desk().explain(refused(10), 8, release="intervals")
    names = list(SCHEMA.names)
    known = {tuple(row) for row in desk().explain(applicants(300), 1, release="intervals").frame[names].to_numpy()}
    told = [tuple(row) for row in found.representatives()[names].to_numpy()]
    assert found.notes["no_copies"] is True
    assert not any(row in known for row in told)
    free = desk().explain(refused(10), 8, release="intervals", no_copies=False)
    assert "no_copies" not in free.notes


def test_an_audit_sees_levels_alone():
    schema = public().edit("age", role="quasi").edit("job", role="quasi")
    explainer = L2C(select="first", model_rows=0).fit(applicants(100), granted, schema, release="intervals")
    assert explainer.explain(refused(4), 5, release="intervals").audit().figures.values is None
    assert explainer.explain(refused(4), 5).audit().figures.values is not None


def test_no_solver_settles_some_rows_of_a_batch_and_not_others(monkeypatch):
    def looks(*_):
        raise AssertionError("it looked into the model")

    monkeypatch.setattr("l2c.app.answering.see_into", looks)
    asked = {"max_changes": 1, "tries": 2, "reasons": False}
    found = desk().explain(worst(5), 2, release="intervals", **asked)
    assert "none_valid" in [outcome.status for outcome in found.outcomes]
    with pytest.raises(AssertionError, match="looked into"):
        desk().explain(worst(5), 2, **asked)


def test_a_feature_may_be_called_like_a_column_of_the_file(tmp_path):
    name = {"hours": "age.representative", "savings": "share_valid"}
    schema = l2c.Schema(tuple(replace(one, name=name.get(one.name, one.name)) for one in public().features))

    def model(frame):
        return granted(frame.rename(columns={new: old for old, new in name.items()}))

    explainer = L2C(select="first", model_rows=0).fit(
        applicants(100).rename(columns=name), model, schema, release="intervals"
    )
    found = explainer.explain(refused(3).rename(columns=name), 3, release="intervals")
    found.write(tmp_path / "found.parquet")
    assert l2c.read(tmp_path / "found.parquet").to_frame().equals(found.to_frame())
    assert {"age.representative_", "share_valid", "share_valid_"} <= set(pd.read_parquet(tmp_path / "found.parquet"))


REFUSALS = {
    "a seed": (
        {"seed": 0},
        "seed: in an interval release the bundle's secret key decides the draws, so that the same question always gets "
        "the same answer; leave it out",
    ),
    "a clock": (
        {"seconds": 9}, "seconds: in an interval release the clock may not change an answer; use tries instead"
    ),
    "no such release": (
        {"release": "interval"}, "release must be 'values' or 'intervals', not 'interval'; did you mean 'intervals'?"
    ),
    "no such answer": ({"no_copies": "yes"}, "no_copies must be True, False or None, not 'yes'"),
    "a row's range": (
        {"limits": [{"permit": {"age": (31, 44)}}]},
        "limits of row 0: permit 'age': no interval lies within 31 to 44, and an interval release permits whole ones "
        "alone; the edges are 30, 45, 60",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_what_would_undo_it_is_refused(name):
    asked, sentence = REFUSALS[name]
    with pytest.raises(InputError) as refusal:
        desk().explain(refused(1), 2, **({"release": "intervals"} | asked))
    assert refusal.value.problems == (sentence,)


def test_an_explainer_that_saw_exact_numbers_is_refused_with_everything_else():
    explainer = L2C(select="first", model_rows=0).fit(applicants(), granted, public())
    with pytest.raises(InputError) as refusal:
        explainer.explain(refused(1), 0, seed=3, release="intervals")
    assert [problem.split(":")[0] for problem in refusal.value.problems] == [
        "n must be at least 1, not 0", "release='intervals'", "seed",
    ]  # fmt: skip


UNPUBLIC: dict[str, tuple[dict[str, dict[str, Any]], str]] = {
    "learned": (
        {"age": {"binning": EqualFrequency(3)}, "savings": {"binning": l2c.Tree()}},
        "an interval release speaks over public edges, and those of 'age', 'savings' come from data: give them in the "
        "schema, as bins={'age': l2c.Edges((30, 45, 60))}, or have them made with differential privacy by "
        "l2c.private_edges",
    ),
    "open": (
        {"savings": {"binning": ZeroOrPositive()}},
        "feature 'savings': without data nobody knows how far 'over 0' reaches; declare its high",
    ),
    "one cut": (
        {"savings": {"binning": Edges((5,)), "low": 0}},
        "feature 'savings': one cut point does not tell how wide its two bins are; declare low and high",
    ),
    "cut short": (
        {"age": {"low": 35}},
        "feature 'age': the range that it is proposed in ends inside a bin; drop the cut points beyond it",
    ),
}


@pytest.mark.parametrize("name", UNPUBLIC)
def test_edges_that_are_not_public_are_refused(name):
    edits, sentence = UNPUBLIC[name]
    schema = public()
    for feature, changes in edits.items():
        schema = schema.edit(feature, **changes)
    with pytest.raises(InputError) as refusal:
        L2C().fit(applicants(), granted, schema, release="intervals")
    assert refusal.value.problems == (sentence,)


def test_fit_refuses_what_is_no_release_and_no_key():
    with pytest.raises(InputError) as refusal:
        L2C().fit(applicants(), granted, public(), release="boxes", key=b"short")
    assert refusal.value.problems == (
        "release must be 'values' or 'intervals', not 'boxes'",
        "key must be 32 bytes, such as secrets.token_bytes(32)",
    )


def test_a_discretised_model_needs_the_same_edges_and_then_holds_all_over():
    train = applicants(200).assign(loan=lambda rows: granted(rows) > 0.5)
    schema = replace(public(), target="loan")
    from sklearn.linear_model import LogisticRegression

    model = l2c.discretised(LogisticRegression(), train, schema)
    explainer = L2C(select="first", model_rows=0).fit(train, model, schema, release="intervals")
    found = explainer.explain(refused(4), 3, release="intervals")
    assert (found.to_frame()["share_valid"] == 1).all()
    other = schema.edit("age", binning=Edges((33, 50)))
    with pytest.raises(InputError, match="trained on other bins or levels than the schema has: 'age'"):
        L2C().fit(train, model, other, release="intervals")


def test_several_classes_numbers_and_versions_work_over_intervals():
    three = L2C(select="first", model_rows=0).fit(applicants(200), graded, public(), release="intervals")
    found = three.explain(refused(3), 2, release="intervals", desired=["small", "large"])
    assert len(found)
    assert set(found.to_frame()["prediction"]) <= {"small", "large"}

    def stricter(frame):
        return granted(frame) * 0.9

    stricter.classes = granted.classes
    robust = desk().explain(refused(3), 2, release="intervals", robust=[stricter])
    assert (granted(robust.representatives()) * 0.9 > 0.5).all()


# With a gate


@cache
def gated_desk() -> l2c.Explainer:
    roles = public().edit("age", role="quasi").edit("hours", role="quasi").edit("savings", role="sensitive")
    return L2C(select="first", model_rows=0).fit(applicants(300), granted, roles, release="intervals", key=KEY)


@pytest.mark.parametrize("generalise", [False, True])
def test_a_gate_holds_over_the_intervals_that_leave(generalise):
    gate = l2c.Gate(k=3, l=2, generalise=generalise)
    found = gated_desk().explain(refused(6), 12, release="intervals", gate=gate)
    told = found.to_frame()
    assert set(told["row"]) == set(range(6))
    for _, members in told.groupby(["row", "age", "hours"]):
        assert len(members) >= 3
        assert members["savings"].nunique() >= 2
    assert told["share_valid"].between(0, 1).all()
    again = gated_desk().explain(jittered(refused(6), 5), 12, release="intervals", gate=gate)
    assert again.to_frame().equals(told)


def test_a_gate_over_the_release_is_refused_where_answers_are_memorised():
    gate = l2c.Gate(k=2, scope="release")
    with pytest.raises(InputError, match="the same question always gets the same answer: use scope='set'"):
        gated_desk().explain(refused(2), 4, release="intervals", gate=gate)
