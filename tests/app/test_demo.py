"""The demonstration: what it makes, what it shows, what it writes."""

from __future__ import annotations

import json
import sys
from io import StringIO

import pandas as pd
import pytest
from rich.console import Console

import l2c
from l2c.app import demo
from l2c.errors import InputError, MissingExtraError


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    return demo.run(tmp_path_factory.mktemp("demo") / "new" / "folder", n=10, seed=0)


def text_of(shown):
    console = Console(file=StringIO(), width=170)
    for part in demo.tables(shown):
        console.print(part)
    return console.file.getvalue()


def test_every_test_applicant_is_explained_and_every_answer_is_valid(shown):
    long = shown.found.to_frame()
    assert len(shown.found.outcomes) == 200
    assert (len(long), shown.scores.validity, shown.scores.coverage) == (2000, 1.0, 1.0)
    judge = demo.credit_model(shown.data)
    assert (judge.predict(long[list(shown.data.schema.names)]) == long["prediction"]).all()


def test_the_model_is_at_least_as_accurate_as_the_papers_less_one_and_a_half_points(shown):
    predicted = demo.credit_model(shown.data).predict(shown.data.test.drop(columns="risk"))
    assert shown.accuracy == (predicted == shown.data.test["risk"]).mean()
    assert 100 * shown.accuracy >= shown.data.paper["test_accuracy"] - 1.5


def test_the_scorecard_stands_beside_the_papers_row(shown):
    text = text_of(shown)
    assert "200 test applicants, 10 counterfactuals each" in text
    lines = {line[:30].strip(): line[30:].split() for line in text.splitlines()}
    assert lines["H(N+1), as the paper counts"][-2:] == ["46.39", "%"]
    for name, paper in {"sparsity": "61.35", "diversity": "37.31", "unary constraints met": "99.06"}.items():
        assert lines[name][2:] == [paper, "%"]
    assert lines["validity"] == ["100.00", "%", "100.00", "%"]
    assert lines["harmonic mean, H(N)"] == [f"{100 * shown.scores.harmonic_mean:.2f}", "%", "–"]
    assert lines["plausibility"] == [f"{100 * shown.scores.plausibility:.2f}", "%", "–"]
    assert lines["tries a counterfactual"] == [f"{shown.scores.tries:.2f}", "–"]


def test_a_refused_applicant_is_shown_with_five_counterfactuals(shown):
    text = text_of(shown)
    assert f"row {shown.person}: 10 different counterfactuals" in text
    heads = next(line for line in text.splitlines() if "now: bad" in line)
    assert " ".join(heads.split()) == "now: bad 1: good 2: good 3: good 4: good 5: good"
    assert "The model answers “good” to every counterfactual." in text
    assert "Credit amount (DM)" in text
    assert "▸ " in text
    assert "German Credit: logistic regression, test accuracy " in text
    assert shown.explainer.training in " ".join(text.split())


def test_the_files_hold_what_was_found(shown):
    parquet, csv = shown.files
    assert [path.name for path in shown.files] == ["found.parquet", "found.csv"]
    pd.testing.assert_frame_equal(l2c.read(parquet).to_frame(), shown.found.to_frame())
    pd.testing.assert_frame_equal(pd.read_csv(csv), shown.found.to_frame())
    assert all(str(path) in text_of(shown).replace("\n", "") for path in shown.files)


def test_the_figures_are_plain_data(shown):
    figures = json.loads(json.dumps(shown.to_dict()))
    assert list(figures) == ["accuracy", "training", "scores", "paper", "files"]
    assert figures["paper"]["harmonic_mean"] == 46.39
    assert figures["scores"]["validity"] == 1.0


def test_an_applicant_who_is_accepted_can_be_shown_and_the_words_follow(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "L2C", lambda: l2c.L2C(epochs=1, hidden=8, select="first"))
    accepted = demo.run(tmp_path, n=2, seed=0, person=0)
    text = text_of(accepted)
    assert "now: good" in text
    assert "The model answers “bad” to every counterfactual." in text


@pytest.mark.parametrize("person", [-1, 200, 5000])
def test_an_applicant_who_does_not_exist_is_refused_before_anything_is_written(person, tmp_path):
    with pytest.raises(InputError, match=f"^--person {person}: there are applicants 0 to 199$"):
        demo.run(tmp_path / "demo", n=10, seed=0, person=person)
    assert list(tmp_path.iterdir()) == []


def test_without_scikit_learn_the_command_that_installs_it_is_told(monkeypatch, german):
    monkeypatch.setitem(sys.modules, "sklearn.compose", None)
    with pytest.raises(MissingExtraError) as caught:
        demo.credit_model(german)
    assert str(caught.value) == 'the demonstration needs scikit-learn and torch: pip install "l2c[demo]"'
