"""Twins that judge by level: what the model answers, or none at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import nn

import l2c
from l2c.adapters import frames
from l2c.adapters.models import as_blackbox
from l2c.adapters.models.twins import rows_at_random, twin_of
from l2c.adapters.models.watch import within
from l2c.core import twin as twins
from l2c.core.twin import first_layer, first_layer_at_once
from l2c.engine.decode import decode_levels
from l2c.engine.discretise import discretise
from tables import question_for, random_levels

rng = np.random.default_rng(8)
ROWS = 300
PEOPLE = pd.DataFrame(
    {
        "age": rng.integers(18, 80, ROWS),
        "debt": pd.Series(rng.normal(2000, 700, ROWS)).mask(rng.random(ROWS) < 0.2),
        "job": pd.Series(rng.choice(["clerk", "cook", "nurse"], ROWS)).mask(rng.random(ROWS) < 0.1),
        "school": rng.choice([1, 2, 3], ROWS),
    }
)
SCHEMA = l2c.Schema.infer(PEOPLE)
CELLS = frames.strict(frames.read(PEOPLE, SCHEMA))
SHAPE = frames.shape_of(PEOPLE, SCHEMA)
LAYOUT = discretise(SCHEMA, CELLS, np.zeros(ROWS, dtype=np.int64))
INPUTS = l2c.OneHotInput.fit(PEOPLE, SCHEMA)


def module(outputs: int, *after: nn.Module, bias: bool = True) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(INPUTS.width, 24, bias=bias), nn.ReLU(), nn.Linear(24, outputs), *after)


def agrees(blackbox: Any, twin: Any) -> None:
    """Check a twin on proposals of real people, decoded the one way and the other."""
    question = question_for(LAYOUT, CELLS[:40])
    row = np.sort(rng.integers(0, 40, 500))
    levels = random_levels(LAYOUT, (500,), rng)
    for values in (question.room.values, question.room.others):
        expected = blackbox.proba(decode_levels(LAYOUT, levels, values, row))
        np.testing.assert_allclose(twin.proba(twin.inputs(values), row, levels), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(twin.of_cells(CELLS), blackbox.proba(CELLS), rtol=0, atol=1e-6)


NETWORKS = {
    "one logit": (module(1), (0, 1), "logits"),
    "two logits": (module(2), (0, 1), "logits"),
    "three classes": (module(3), ("a", "b", "c"), "logits"),
    "a probability": (module(1, nn.Sigmoid()), (0, 1), "probabilities"),
    "no bias": (module(2, bias=False), (0, 1), "logits"),
    "one layer": (nn.Linear(INPUTS.width, 2), (0, 1), "logits"),
    "logistic": (nn.Sequential(nn.Linear(INPUTS.width, 1)), (0, 1), "logits"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_seen_through_its_first_layer(name):
    network, classes, outputs = NETWORKS[name]
    model = l2c.TorchModel(network, INPUTS, classes=classes, outputs=outputs)
    twin = twin_of(model, LAYOUT)
    assert twin is not None
    agrees(model, twin)


def test_a_model_in_a_hurry_is_seen_through():
    assert twin_of(within(l2c.TorchModel(module(1), INPUTS), 5.0), LAYOUT) is not None


class Squaring(nn.Module):
    def forward(self, matrix: torch.Tensor) -> torch.Tensor:
        return (matrix**2).sum(dim=1, keepdim=True)


@pytest.mark.parametrize("network", [Squaring(), nn.Sequential(Squaring()), nn.Sequential(nn.ReLU(), *module(1))])
def test_a_network_without_a_plain_first_layer_is_not(network):
    assert twin_of(l2c.TorchModel(network, INPUTS), LAYOUT) is None


def pipeline(last: Any) -> Any:
    rows = PEOPLE.dropna()
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(
        make_column_transformer((StandardScaler(), ["age", "debt"]), (encoder, ["job", "school"])), last
    )
    return model.fit(rows, rows["age"] + rng.normal(0, 9, len(rows)) > 45), rows


def box_of(model: Any, rows: pd.DataFrame) -> tuple[Any, Any]:
    schema = l2c.Schema.infer(rows)
    cells = frames.strict(frames.read(rows, schema))
    return as_blackbox(model, frames.shape_of(rows, schema), cells[:8]), discretise(schema, cells, cells[:, 0] > 40)


def test_a_linear_pipeline_is_measured():
    model, rows = pipeline(LogisticRegression())
    blackbox, layout = box_of(model, rows)
    twin = twin_of(blackbox, layout)
    assert twin is not None
    cells = frames.strict(frames.read(rows, layout.schema))
    np.testing.assert_allclose(twin.of_cells(cells), blackbox.proba(cells), rtol=0, atol=1e-6)


def test_trees_and_labels_are_not():
    model, rows = pipeline(RandomForestClassifier(5, random_state=0))
    assert twin_of(*box_of(model, rows)) is None
    linear, rows = pipeline(LogisticRegression())
    blackbox, layout = box_of(linear, rows)
    assert twin_of(replace(blackbox, labels_only=True), layout) is None


def test_a_model_that_cannot_be_asked_about_every_level_is_not():
    def fussy(frame: pd.DataFrame) -> np.ndarray:
        if frame["debt"].isna().any() and len(frame) > 8:
            raise ValueError("no debt")
        return np.full(len(frame), 0.5)

    assert twin_of(as_blackbox(fussy, SHAPE, CELLS[:8]), LAYOUT) is None


def test_rows_at_random_take_every_level_and_numbers_between_them():
    rows = rows_at_random(LAYOUT)
    assert all(len(np.unique(LAYOUT.levels(rows)[:, i])) == axis.size for i, axis in enumerate(LAYOUT.axes))
    assert (rows == rows_at_random(LAYOUT))[~np.isnan(rows)].all()
    assert (rows[:, 0] == np.rint(rows[:, 0])).all()
    assert len(np.unique(rows[:, 1])) > 10


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_table_sums_are_the_same_compiled_and_not(precision):
    offsets, count = np.array([0, 3, 5]), 50
    levels = np.stack([rng.integers(0, size, count) for size in (3, 2, 4)], axis=1).astype(np.int16)
    inputs, weights = rng.normal(size=(6, 9)).astype(precision), rng.normal(size=(9, 7)).astype(precision)
    bias, row = rng.normal(size=7).astype(precision), rng.integers(0, 6, count)
    at_once = first_layer_at_once(inputs, row, levels, offsets, weights, bias)
    assert at_once.dtype == precision
    for n in range(count):
        slow = bias + sum(inputs[row[n], p] * weights[p] for p in offsets + levels[n])
        np.testing.assert_allclose(at_once[n], slow, rtol=1e-4)
    assert (first_layer.plain(inputs, row, levels, offsets, weights, bias) == at_once).all()
    if twins.compiles():
        assert (first_layer(inputs, row, levels, offsets, weights, bias) == at_once).all()
