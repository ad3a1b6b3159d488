"""A small table of every kind of column, and what every model made of it must hold to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import l2c
from l2c.adapters import frames
from l2c.adapters.models import as_blackbox
from l2c.core.blackbox import BlackBox

ROWS = 160
rng = np.random.default_rng(3)

TEXTS = pd.DataFrame(
    {
        "age": rng.integers(18, 80, ROWS),
        "the debt": rng.normal(20, 7, ROWS),
        "job": rng.choice(["clerk", "cook", "nurse"], ROWS),
        "school": rng.choice(["low", "middle", "high"], ROWS),
        "married": rng.random(ROWS) < 0.5,
    }
)
SCORE = TEXTS["age"] / 10 - TEXTS["the debt"] / 4 + 2 * (TEXTS["job"] == "cook") + rng.normal(0, 1, ROWS)
LATE = (SCORE.median() < SCORE).to_numpy()
WORDS = np.where(LATE, "late", "paid")
THIRDS = np.digitize(SCORE, SCORE.quantile([1 / 3, 2 / 3]))

DECLARED = TEXTS.assign(
    # Neither in the order of the alphabet nor in that of their first use.
    job=pd.Categorical(TEXTS["job"], ["nurse", "clerk", "cook"]),
    school=pd.Categorical(TEXTS["school"], ["low", "middle", "high"], ordered=True),
)
GAPS = DECLARED.assign(
    job=DECLARED["job"].mask(rng.random(ROWS) < 0.15),
    **{"the debt": DECLARED["the debt"].mask(rng.random(ROWS) < 0.2)},
)
NUMBERS = TEXTS[["age", "the debt"]]

KINDS = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


def box_of(model: object, frame: Any) -> BlackBox:
    """Return the model as L2C sees it, for frames like this one."""
    schema = l2c.Schema.infer(frame)
    return as_blackbox(model, frames.shape_of(frame, schema), cells_of(frame)[:8])


def cells_of(frame: Any) -> np.ndarray:
    return frames.strict(frames.read(frame, l2c.Schema.infer(frame)))


def answers_as(model: object, frame: Any, expected: np.ndarray, *, atol: float = 1e-6) -> BlackBox:
    """Check that a model answers cells as its library answers the frame, in any order and batch; return it."""
    blackbox, cells = box_of(model, frame), cells_of(frame)
    np.testing.assert_allclose(blackbox.proba(cells), expected, rtol=0, atol=atol)
    shuffled = np.random.default_rng(0).permutation(len(cells))[: len(cells) // 3]
    np.testing.assert_allclose(blackbox.proba(cells[shuffled]), expected[shuffled], rtol=0, atol=atol)
    for row in shuffled[:3]:
        np.testing.assert_allclose(blackbox.proba(cells[[row]]), expected[[row]], rtol=0, atol=atol)
    return blackbox


def hot(labels: Any, classes: tuple[Any, ...]) -> np.ndarray:
    """Return one-hot rows, the slow way."""
    return np.array([[float(label == each) for each in classes] for label in labels])
