"""Private edges: near the quantiles, priced as told, public in form, and refused in a sentence."""

from __future__ import annotations

import builtins
import math

import numpy as np
import pandas as pd
import pytest

import l2c
from l2c import Edges, Feature, Schema
from l2c.errors import InputError, MissingExtraError

SCHEMA = Schema(
    (
        Feature(name="age", kind="numeric", integer=True),
        Feature(name="hours", kind="numeric", high=60, missing=True),
        Feature(name="job", kind="binary", levels=("clerk", "nurse")),
    )
)
RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, 4000),
        "hours": np.where(RNG.random(4000) < 0.1, np.nan, RNG.uniform(0, 60, 4000)),
        "job": RNG.choice(["clerk", "nurse"], 4000),
    }
)


def test_edges_lie_near_the_quantiles_and_cost_what_was_given():
    made = l2c.private_edges(ROWS, SCHEMA, {"age": (0, 120), "hours": (0, 100)}, epsilon=2.0)
    assert made.epsilon <= 2.0 * (1 + 1e-9)
    assert made.epsilon > 1.9
    age, hours = made.schema["age"], made.schema["hours"]
    assert isinstance(age.binning, Edges)
    # With 4,000 rows an edge misses its quantile by far less than this, but for odds of e^-100.
    assert np.abs(np.array(age.binning.cuts) - np.quantile(ROWS["age"], [0.25, 0.5, 0.75])).max() <= 5
    assert np.abs(np.array(hours.binning.cuts) - np.nanquantile(ROWS["hours"], [0.25, 0.5, 0.75])).max() <= 5
    assert all(cut == round(cut) for cut in age.binning.cuts)
    assert age.binning.source == f"quantiles with differential privacy by OpenDP, epsilon = {made.epsilon / 2:.6g}"
    assert (age.low, age.high, hours.low, hours.high) == (0, 120, 0, 60)
    assert made.schema["job"] == SCHEMA["job"]


def test_with_a_tiny_budget_any_candidate_may_be_drawn():
    few = Schema((Feature(name="age", kind="numeric", integer=True),))
    rows = pd.DataFrame({"age": [3] * 10})
    drawn = [l2c.private_edges(rows, few, {"age": (0, 5)}, epsilon=1e-3, bins=2) for _ in range(60)]
    counts = pd.Series([made.schema["age"].binning.cuts[0] for made in drawn]).value_counts()
    assert sorted(counts.index) == [1, 2, 3, 4]
    assert counts.min() >= 3  # 15 are expected; fewer than 3 come once in ten thousand runs
    assert all(made.epsilon <= 1e-3 * (1 + 1e-9) for made in drawn)


def test_edges_can_be_released_over():
    made = l2c.private_edges(ROWS, SCHEMA, {"age": (0, 120), "hours": (0, 60)}, bins=3)
    model = lambda frame: 1 / (1 + np.exp(-(frame["age"].to_numpy() - 50) / 9))  # noqa: E731
    explainer = l2c.L2C(select="first", model_rows=0).fit(ROWS[:200], model, made.schema, release="intervals")
    found = explainer.explain(ROWS[:5], 2, release="intervals")
    assert found.to_frame()["share_valid"].between(0, 1).all()


def test_everything_wrong_is_told_at_once():
    with pytest.raises(InputError) as refusal:
        l2c.private_edges(
            ROWS, SCHEMA, {"agee": (0, 9), "job": (0, 1), "age": (4, 4.5), "hours": (9, math.inf)}, epsilon=0, bins=1
        )
    assert refusal.value.problems == (
        "bounds: there is no feature 'agee'; did you mean 'age'?",
        "bounds: 'job' is binary, and only numbers have edges",
        "bounds of 'age': there is no whole number between 4 and 4.5 to cut at",
        "bounds of 'hours': expected a range (low, high) of finite numbers, not (9, inf)",
        "epsilon must be above 0, not 0",
        "bins must be a whole number of at least 2, not 1",
    )
    with pytest.raises(InputError, match="bounds name no feature"):
        l2c.private_edges(ROWS, SCHEMA, {})
    with pytest.raises(InputError, match="expected a range"):
        l2c.private_edges(ROWS, SCHEMA, {"hours": 9})


def test_without_the_extra_it_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("opendp"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r'needs opendp: pip install "l2c\[dp\]"'):
        l2c.private_edges(ROWS, SCHEMA, {"age": (0, 120)})
