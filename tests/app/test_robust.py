"""Counterfactuals that hold under several versions of a model, or by a margin."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import l2c
from l2c.core.goal import Goal, judged_by_all
from l2c.errors import InputError, OtherModelError

QUICK = l2c.L2C(epochs=0, select="first")
rng = np.random.default_rng(5)
ROWS = pd.DataFrame(
    {
        "age": rng.integers(18, 80, 200),
        "debt": rng.normal(20, 7, 200).round(1),
        "hours": rng.integers(10, 60, 200),
        "job": rng.choice(["clerk", "cook", "nurse"], 200),
    }
)
SCHEMA = l2c.Schema.infer(ROWS, rises=["age"])


def scored(age, debt, hours, cook=0.0):
    """Return a model of two classes that weighs three numbers and a job."""

    def model(frame):
        odds = age * (frame["age"] - 45) + debt * (frame["debt"] - 20) + hours * (frame["hours"] - 35)
        odds = odds + cook * (frame["job"] == "cook")
        return 1 / (1 + np.exp(-np.asarray(odds, dtype=float)))

    model.classes = ("no", "yes")
    return model


FIRST = scored(0.05, -0.15, 0.08)
OTHERS = [scored(0.02, -0.2, 0.05, cook=0.5), scored(0.08, -0.1, 0.1, cook=-0.5)]


@pytest.fixture(scope="module")
def explainer():
    return QUICK.fit(ROWS, FIRST, SCHEMA)


def says(model, long):
    return np.where(model(long) > 0.5, "yes", "no")


def holding(long, models):
    """Return which counterfactuals every model puts where the first one does."""
    return np.all([says(model, long) == long["prediction"] for model in models], axis=0)


def test_under_several_models_all_must_be_convinced(explainer):
    rows = ROWS[:60]
    plain, robust = explainer.explain(rows, 6), explainer.explain(rows, 6, robust=OTHERS)
    assert not holding(plain.to_frame(), OTHERS).all()
    long = robust.to_frame()
    assert len(long) > 300
    assert holding(long, [FIRST, *OTHERS]).all()
    assert robust.notes["robust"] == {"models": 2}
    assert "robust" not in plain.notes


def test_the_probability_that_is_told_is_the_least(explainer):
    long = explainer.explain(ROWS[:20], 5, robust=OTHERS).to_frame()
    yes = np.min([np.where(long["prediction"] == "yes", m(long), 1 - m(long)) for m in (FIRST, *OTHERS)], axis=0)
    np.testing.assert_allclose(long["probability"], yes, atol=1e-12)


def test_the_same_model_once_more_changes_nothing(explainer):
    rows = ROWS[:20]
    assert explainer.explain(rows, 5, robust=[FIRST]).to_frame().equals(explainer.explain(rows, 5).to_frame())


def test_a_version_may_name_its_classes_in_another_order(explainer):
    def turned(frame):
        return OTHERS[0](frame), 1 - OTHERS[0](frame)

    def model(frame):
        return np.stack(turned(frame), axis=1)

    model.classes = ("yes", "no")
    rows = ROWS[:20]
    straight = explainer.explain(rows, 5, robust=OTHERS[:1]).to_frame()
    assert explainer.explain(rows, 5, robust=[model]).to_frame().equals(straight)


def test_who_is_there_under_one_version_only_is_not_there_yet(explainer):
    rows = ROWS[:120]
    found = explainer.explain(rows, 3, desired="yes", robust=OTHERS)
    everywhere = np.all([model(rows) > 0.5 for model in (FIRST, *OTHERS)], axis=0)
    assert [outcome.status == "already" for outcome in found.outcomes] == everywhere.tolist()
    somewhere = (FIRST(rows) > 0.5) & ~everywhere
    assert somewhere.any()
    assert all(found.outcomes[row].found for row in np.flatnonzero(somewhere))
    assert holding(found.to_frame(), [FIRST, *OTHERS]).all()


@pytest.mark.parametrize("margin", [0.1, 0.25])
def test_by_a_margin_the_probability_is_that_far_beyond_one_half(explainer, margin):
    found = explainer.explain(ROWS[:60], 6, robust=margin)
    long = found.to_frame()
    own = np.where(long["prediction"] == "yes", FIRST(long), 1 - FIRST(long))
    assert len(long) > 300
    assert own.min() >= 0.5 + margin - 1e-9
    assert found.notes["robust"] == {"margin": margin}


def test_a_margin_makes_more_of_them_hold_elsewhere(explainer):
    shares = [
        holding(explainer.explain(ROWS[:60], 10, robust=robust).to_frame(), OTHERS).mean()
        for robust in (None, 0.1, 0.3, OTHERS)
    ]
    assert shares == sorted(shares)
    assert shares[0] < shares[2]
    assert shares[3] == 1.0


def test_with_three_classes_a_margin_is_a_lead():
    labels = np.digitize(FIRST(ROWS), [0.33, 0.66])
    numbers = ["age", "debt", "hours"]
    model = LogisticRegression(max_iter=2000).fit(ROWS[numbers], labels)
    explainer = QUICK.fit(ROWS, model, SCHEMA)
    for desired in ([2], [0, 2], None):
        long = explainer.explain(ROWS[:40], 4, desired=desired, robust=0.1).to_frame()
        proba = model.predict_proba(long[numbers])
        now = model.predict(ROWS[numbers][:40])[long["row"]]
        good = np.isin(np.arange(3)[None, :], desired) if desired else np.arange(3)[None, :] != now[:, None]
        lead = np.where(good, proba, -1).max(axis=1) - np.where(good, -1, proba).max(axis=1)
        assert len(long)
        assert lead.min() >= 0.2 - 1e-9


def test_where_robustness_stands_in_the_way_it_is_said(explainer):
    def never(frame):
        return np.full(len(frame), 0.0)

    never.classes = ("no", "yes")
    rows = ROWS[FIRST(ROWS) < 0.5][:3]
    found = explainer.explain(rows, 2, robust=[never], tries=300)
    for outcome in found.outcomes:
        assert outcome.found == 0
        assert outcome.sentence.endswith("; feasible if it need not be robust")
        assert [relaxation.limit for relaxation in outcome.reason.relaxations] == ["robust"]
    sure = explainer.explain(rows, 2, robust=0.4999, tries=300)
    assert all(outcome.sentence.endswith("; feasible if it need not be robust") for outcome in sure.outcomes)


def test_what_a_version_takes_back_on_the_released_frame_is_not_released(explainer):
    calls = []

    def moody(frame):
        calls.append(len(frame))
        return np.where(frame["job"] == "cook", 1 - OTHERS[0](frame), OTHERS[0](frame)) if last else OTHERS[0](frame)

    moody.classes = ("no", "yes")
    last = False
    rows = ROWS[:10].astype({"age": "int32"})  # not what the versions were shown before
    straight = explainer.explain(rows, 4, robust=[moody])
    asked = len(calls)
    calls.clear()

    class Turning:
        classes = ("no", "yes")

        def __call__(self, frame):
            nonlocal last
            last = len(calls) >= asked - 1
            return moody(frame)

    found = explainer.explain(rows, 4, robust=[Turning()])
    assert len(found) < len(straight)
    kept = found.to_frame()
    last = True
    assert holding(kept, [moody]).all()


def test_it_is_kept_in_the_file(explainer, tmp_path):
    found = explainer.explain(ROWS[:10], 3, robust=0.2)
    found.write(tmp_path / "found.parquet")
    stored = l2c.read(tmp_path / "found.parquet")
    assert stored.released.goal.margin == 0.2
    assert stored.notes["robust"] == {"margin": 0.2}


@pytest.mark.parametrize(
    ("robust", "sentence"),
    [
        (0.5, r"^robust is a margin above 0 and below 0.5, or a list of models, not 0.5$"),
        (0, r"^robust is a margin above 0 and below 0.5, or a list of models, not 0$"),
        (True, r"^robust is a list of models, or a margin such as 0.1, not True$"),
        ([], r"^robust is a list of models, or a margin such as 0.1, not \[\]$"),
        (FIRST, r"^robust is a list of models, or a margin such as 0.1, not <function"),
        ([FIRST, "model"], r"^robust\[1\]: str is no model: expected"),
    ],
)
def test_what_cannot_be_withstood_is_told(explainer, robust, sentence):
    with pytest.raises(InputError, match=sentence):
        explainer.explain(ROWS[:2], 1, robust=robust)


def test_a_version_with_other_classes_is_none(explainer):
    def other(frame):
        return FIRST(frame)

    with pytest.raises(OtherModelError, match="are about the classes 'no', 'yes', and this model has 0, 1"):
        explainer.explain(ROWS[:2], 1, robust=[other])


def test_a_margin_needs_a_decision_with_probabilities(explainer):
    svc = LinearSVC().fit(ROWS[["age", "debt"]], FIRST(ROWS) > 0.5)
    labels = QUICK.fit(ROWS, svc, SCHEMA)
    with pytest.raises(
        InputError, match=r"^robust=margin needs probabilities, and this model answers with labels alone"
    ):
        labels.explain(ROWS[:2], 1, robust=0.1)
    sentence = r"^robust=margin is about the model's decision; beside desired_proba, narrow the range instead$"
    with pytest.raises(InputError, match=sentence):
        explainer.explain(ROWS[:2], 1, desired_proba=(0.6, 0.9), robust=0.1)
    with pytest.raises(InputError, match=sentence):
        explainer.explain(ROWS[:2], 1, limits=[None, {"desired_proba": (0.6, 0.9)}], robust=0.1)


def test_all_models_are_asked_and_the_least_counts():
    goal = Goal.of_classes(np.array([1, 1, 0]), classes=2)
    answers = [np.array([[0.2, 0.8], [0.4, 0.6], [0.9, 0.1]]), np.array([[0.3, 0.7], [0.6, 0.4], [0.8, 0.2]])]
    reached, chance, near = judged_by_all(goal, answers)
    assert reached.tolist() == [True, False, True]
    assert chance.tolist() == near.tolist() == [0.7, 0.4, 0.8]
