"""German Credit with a logistic regression and an explainer, made once for every test of this folder."""

from __future__ import annotations

import pytest

import l2c
from l2c.app.demo import credit_model


@pytest.fixture(scope="session")
def german():
    return l2c.datasets.load("german")


@pytest.fixture(scope="session")
def model(german):
    return credit_model(german)


@pytest.fixture(scope="session")
def explainer(german, model):
    return l2c.L2C(epochs=5, select="first").fit(german.train, model, german.schema)


@pytest.fixture(scope="session")
def found(german, explainer):
    return explainer.explain(german.test[:40], 10, seed=3)
