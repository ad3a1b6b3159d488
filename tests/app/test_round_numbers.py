"""Models that answer in round numbers, as score cards do: their twin is off by rounding, and that decides nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import l2c

LEVELS = {"a": "pqrs", "b": "uvw", "c": "xyz", "d": "ijk", "e": "lmn"}
ROUND_ODDS = (1 / 9, 1 / 4, 1 / 3, 2 / 3, 1.0, 1.5, 2.0, 7 / 3, 3.0, 4.0)

Numbers = Callable[[pd.DataFrame], np.ndarray]


def people(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({name: rng.choice(list(levels), rows) for name, levels in LEVELS.items()})


def worth(seed: int, *points: float) -> Numbers:
    """Return what each level is worth, drawn from some points, for all features of a frame."""
    rng = np.random.default_rng(seed)
    each = {name: dict(zip(levels, rng.choice(points, len(levels)), strict=True)) for name, levels in LEVELS.items()}
    return lambda frame: np.stack([frame[name].map(each[name]).to_numpy(float) for name in LEVELS])


def explainer_of(second: Numbers) -> l2c.Explainer:
    """Return the explainer of a model, given its probability of the second class."""

    def model(frame: pd.DataFrame) -> np.ndarray:
        proba = second(frame)
        return np.stack([1 - proba, proba], axis=1)

    model.classes = ("no", "yes")  # type: ignore[attr-defined]
    rows = people(200)
    schema = l2c.Schema.infer(rows).edit("a", role="quasi").edit("b", role="quasi").edit("c", role="sensitive")
    explainer = l2c.L2C(epochs=1, model_rows=500).fit(rows, model, schema)
    assert explainer._twin is not None
    return explainer


@pytest.mark.parametrize("seed", [0, 2])
def test_who_is_at_a_tie_within_a_range_is_told_by_the_model_so_that_classes_of_a_gate_hold(seed):
    points, rows = worth(seed, *np.arange(-3, 4) / 10), people(30)
    explainer = explainer_of(lambda frame: 1 / (1 + np.exp(-np.round(points(frame).sum(axis=0), 6))))
    request = {"desired": "yes", "desired_proba": (0.45, 0.55), "gate": l2c.Gate(k=3), "reasons": False}
    found = explainer.explain(rows, 8, **request)
    expected = replace(explainer, _twin=None).explain(rows, 8, **request)
    assert len(found) > 100
    assert found.to_frame().equals(expected.to_frame())
    assert found.outcomes == expected.outcomes


@pytest.mark.parametrize(("seed", "hair"), [(0, 0.0), (1, 0.0), (0, 2e-16), (2, 2e-16)])
def test_the_highest_probability_that_is_told_is_the_models_own(seed, hair):
    odds, rows = worth(seed, *ROUND_ODDS), people(20)
    explainer = explainer_of(lambda frame: 1 - 1 / (1 + odds(frame).prod(axis=0)) - hair)
    request = {"desired": "yes", "max_changes": 1}
    found = explainer.explain(rows, 2, desired_proba=(0.999, 1.0), **request)
    expected = replace(explainer, _twin=None).explain(rows, 2, desired_proba=(0.999, 1.0), **request)
    assert found.outcomes == expected.outcomes
    told = [
        (place, relaxation.value)
        for place, outcome in enumerate(found.outcomes)
        for relaxation in outcome.reason.relaxations
        if relaxation.limit == "desired_proba"
    ]
    assert len(told) > 15  # of 20; some are themselves more probable than any change makes them
    for place, reached in told:
        again = explainer.explain(rows.iloc[[place]], 1, desired_proba=(reached, 1.0), **request)
        assert again.outcomes[0].status == "found"
