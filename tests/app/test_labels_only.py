"""A model that names a class and no more: a linear support vector machine on German Credit, asked from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import l2c


@pytest.fixture(scope="module")
def machine(german):
    numbers = [feature.name for feature in german.schema.features if feature.numeric]
    words = [name for name in german.schema.names if name not in numbers]
    prepared = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), words))
    return make_pipeline(prepared, LinearSVC(C=0.1)).fit(german.train[list(german.schema.names)], german.train["risk"])


@pytest.fixture(scope="module")
def explainer(german, machine):
    return l2c.L2C(epochs=3).fit(german.train, machine, german.schema)


@pytest.mark.parametrize("desired", [None, "good"])
def test_every_counterfactual_gets_the_label(german, machine, explainer, desired):
    names, rows = list(german.schema.names), german.test[:50]
    found = explainer.explain(rows, 10, desired=desired)
    now, long = machine.predict(rows[names]), found.to_frame()
    again = machine.predict(long[names])
    assert (again == long["prediction"]).all()
    assert (again == "good").all() if desired else (again != now[long["row"]]).all()
    assert found.scores().validity == 1.0
    assert all(outcome.found == 10 for outcome in found.outcomes if outcome.status != "already")
    assert set(long["probability"]) == {1.0}


def test_other_machines_may_have_to_agree(german, machine, explainer):
    names = list(german.schema.names)
    others = [
        make_pipeline(machine[0], LinearSVC(C=0.1)).fit(sample[names], sample["risk"])
        for sample in (german.train.sample(frac=1.0, replace=True, random_state=seed) for seed in (0, 1))
    ]
    rows = german.test[:20]
    plain, robust = (explainer.explain(rows, 10, robust=robust).to_frame() for robust in (None, others))
    held = [np.mean([other.predict(long[names]) == long["prediction"] for other in others]) for long in (plain, robust)]
    assert held[0] < held[1] == 1.0
