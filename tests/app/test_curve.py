"""The curve of the dial."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import l2c
from l2c.errors import InputError

PLACES = (0.0, 1.0)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    hours = rng.integers(10, 60, 300)
    paid = np.where(rng.random(300) < 0.8, (hours > 35).astype(int), rng.integers(0, 2, 300))
    job = np.where(hours > 30, rng.choice(["nurse", "cook"], 300), rng.choice(["clerk", "cook"], 300))
    return pd.DataFrame({"hours": hours, "paid": paid, "job": job, "town": rng.choice(["a", "b", "c"], 300)})


def approve(frame: pd.DataFrame) -> np.ndarray:
    return 1 / (1 + np.exp(-(0.1 * (frame["hours"] - 35) + (frame["job"] == "nurse") - 0.5 * (frame["town"] == "a"))))


@pytest.fixture(scope="module")
def explainer(people) -> l2c.Explainer:
    return l2c.L2C().fit(people, approve, l2c.Schema.infer(people))


@pytest.fixture(scope="module")
def curve(explainer, people):
    return explainer.curve(people[:30], n=8, places=PLACES)


def test_a_point_holds_the_scores_of_explaining_at_its_place(explainer, people, curve):
    found = explainer.explain(people[:30], 8, plausibility=1.0)
    assert [point.place for point in curve.points] == [0.0, 1.0]
    assert curve.points[1].scores.harmonic_mean == found.scores().harmonic_mean
    assert curve.points[1].acceptance == found.released.pooled / found.released.tries


def test_turning_the_dial_buys_plausibility_with_harmonic_mean(curve):
    diverse, plausible = (point.scores for point in curve.points)
    assert plausible.plausibility > diverse.plausibility
    assert plausible.harmonic_mean < diverse.harmonic_mean


def test_it_prints_a_line_for_each_place(curve):
    lines = str(curve).splitlines()
    assert "H(N)" in str(curve)
    for point in curve.points:
        assert any(f"{100 * point.scores.plausibility:.2f}" in line for line in lines)


def test_as_plain_data_it_has_the_dial_and_the_metrics(curve):
    first = curve.to_dicts()[0]
    assert first["plausibility_dial"] == 0.0
    assert first["harmonic_mean"] == curve.points[0].scores.harmonic_mean


def test_the_plot_has_a_point_for_each_place(curve):
    values = curve.plot().to_dict()["layer"][0]
    data = curve.plot().to_dict()
    assert values["mark"]["type"] == "line"
    assert [value["dial"] for value in data["data"]["values"]] == [0.0, 1.0]


def test_a_saved_explainer_needs_to_be_given_a_reference(explainer, people, tmp_path):
    explainer.save(tmp_path / "bundle")
    loaded = l2c.load(tmp_path / "bundle", model=approve)
    with pytest.raises(InputError, match="a saved explainer holds no rows to measure against: give reference=df_train"):
        loaded.curve(people[:5], n=3)
    given = loaded.curve(people[:30], people, n=8, places=PLACES[1:])
    assert given.points[0].scores.plausibility is not None
