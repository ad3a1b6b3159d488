"""Three classes: the wines of scikit-learn, every counterfactual classified again from scratch by the model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import l2c
from l2c.errors import InputError

WINE = load_wine(as_frame=True)
ROWS = WINE.data.rename(columns=lambda name: name.replace("/", " of "))
NAMES = np.array(["barolo", "grignolino", "barbera"])[WINE.target]
held_out = np.random.default_rng(0).random(len(ROWS)) < 0.3
TRAIN, TEST = ROWS[~held_out], ROWS[held_out]
SCHEMA = l2c.Schema.infer(TRAIN)

MODELS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()).fit(TRAIN, NAMES[~held_out]),
    "forest": RandomForestClassifier(30, random_state=0, n_jobs=1).fit(TRAIN, NAMES[~held_out]),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]


@pytest.fixture(scope="module")
def explainer(model):
    return l2c.L2C(epochs=5).fit(TRAIN, model, SCHEMA)


def strictly(model, long, accepted):
    """Return which counterfactuals have an accepted class ahead of every other, one by one."""
    classes = list(model.classes_)
    good = []
    for proba, mine in zip(model.predict_proba(long[ROWS.columns]), accepted, strict=True):
        inside = max(proba[classes.index(name)] for name in mine)
        outside = max((p for name, p in zip(classes, proba, strict=True) if name not in mine), default=-1.0)
        good.append(inside > outside)
    return np.array(good)


@pytest.mark.parametrize("desired", ["barolo", ["barolo", "barbera"], None])
def test_every_counterfactual_has_a_desired_class(explainer, model, desired):
    found = explainer.explain(TEST, 10, desired=desired)
    now, long = model.predict(TEST), found.to_frame()
    others = [[name for name in model.classes_ if name != own] for own in now]
    wanted = [[desired] if isinstance(desired, str) else desired or other for other in others]
    assert strictly(model, long, [wanted[row] for row in long["row"]]).all()
    assert (long["prediction"] == model.predict(long[ROWS.columns])).all()
    there = [own in mine for own, mine in zip(now, wanted, strict=True)]
    assert [outcome.status == "already" for outcome in found.outcomes] == there
    assert {outcome.status for outcome in found.outcomes} <= {"already", "found"}
    assert found.scores().validity == 1.0


def test_of_several_classes_each_may_be_reached(explainer):
    rows = TEST[MODELS["logistic"].predict(TEST) == "grignolino"]
    long = explainer.explain(rows, 20, desired=["barolo", "barbera"]).to_frame()
    assert set(long["prediction"]) == {"barolo", "barbera"}


def test_the_probability_is_that_of_the_desired_classes_together(explainer, model):
    rows = TEST[model.predict(TEST) == "grignolino"]
    long = explainer.explain(rows, 5, desired=["barolo", "barbera"]).to_frame()
    proba = model.predict_proba(long[ROWS.columns])
    together = proba[:, [list(model.classes_).index(name) for name in ("barolo", "barbera")]].sum(axis=1)
    np.testing.assert_allclose(long["probability"], together, atol=1e-12)


def test_a_class_that_is_none_is_told(explainer):
    with pytest.raises(InputError, match=r"desired 'barollo' is no class of the model.*did you mean 'barolo'\?"):
        explainer.explain(TEST[:2], 1, desired=["barollo"])


def test_other_versions_must_agree_on_the_class(explainer, model):
    other = MODELS["forest"] if model is MODELS["logistic"] else MODELS["logistic"]
    rows = TEST[:20]
    long = explainer.explain(rows, 5, desired="barolo", robust=[other]).to_frame()
    assert len(long)
    for judge in (model, other):
        assert (judge.predict(long[ROWS.columns]) == "barolo").all()
