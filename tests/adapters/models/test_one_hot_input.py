"""The networks' input against plain pandas: numbers standardised, everything else one-hot, missing flagged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import l2c
from l2c.adapters import frames
from l2c.errors import DataError

ROWS = 120
rng = np.random.default_rng(4)
PEOPLE = pd.DataFrame(
    {
        "age": rng.integers(18, 80, ROWS),
        "job": rng.choice(["nurse", "clerk", "cook"], ROWS),
        "debt": np.where(rng.random(ROWS) < 0.3, np.nan, rng.normal(2000, 700, ROWS)),
        "school": pd.Categorical(rng.choice(["low", "middle", "high"], ROWS)),
        "pet": pd.Series(rng.choice(["cat", "dog"], ROWS)).mask(rng.random(ROWS) < 0.2),
        "married": rng.random(ROWS) < 0.5,
        "paid": rng.choice(["yes", "no"], ROWS),
    }
)
SCHEMA = l2c.Schema.infer(PEOPLE, target="paid", ordinal={"school": ["low", "middle", "high"]})
TRAIN, OTHERS = PEOPLE[:80], PEOPLE[80:]


def plainly(rows: pd.DataFrame, train: pd.DataFrame) -> pd.DataFrame:
    """Return the matrix as one would write it by hand, column by column."""
    columns = {}
    for feature in SCHEMA.features:
        column = rows[feature.name]
        if feature.numeric:
            known = train[feature.name]
            columns[feature.name] = ((column - known.mean()) / known.std(ddof=0)).fillna(0.0)
        else:
            for level in feature.levels:
                columns[f"{feature.name} is {level}"] = (column == level).astype(float)
        if feature.missing:
            columns[f"{feature.name} is missing"] = column.isna().astype(float)
    return pd.DataFrame(columns)


def test_the_schema_of_these_tests_has_every_kind_of_column():
    assert [(feature.name, feature.kind, feature.missing) for feature in SCHEMA.features] == [
        ("age", "numeric", False),
        ("job", "categorical", False),
        ("debt", "numeric", True),
        ("school", "ordinal", False),
        ("pet", "binary", True),
        ("married", "binary", False),
    ]


@pytest.mark.parametrize("rows", [TRAIN, OTHERS, OTHERS[:1]])
def test_the_matrix_is_the_one_that_pandas_makes_by_hand_with_the_training_mean_and_scale(rows):
    matrix = l2c.OneHotInput.fit(TRAIN, SCHEMA).transform(rows)
    assert matrix.dtype == np.float32
    np.testing.assert_allclose(matrix, plainly(rows, TRAIN), atol=1e-6)


def test_the_width_is_known_before_a_row_is_seen():
    assert l2c.OneHotInput.fit(TRAIN, SCHEMA).width == 1 + 3 + 2 + 3 + 3 + 2 == plainly(OTHERS, TRAIN).shape[1]


def test_the_features_stand_in_the_schemas_order_whatever_the_frames():
    inputs = l2c.OneHotInput.fit(TRAIN[TRAIN.columns[::-1]], SCHEMA)
    expected = l2c.OneHotInput.fit(TRAIN, SCHEMA).transform(OTHERS)
    assert (inputs.transform(OTHERS[OTHERS.columns[::-1]]) == expected).all()


def test_frame_and_cells_give_the_same_matrix():
    inputs = l2c.OneHotInput.fit(TRAIN, SCHEMA)
    assert (inputs.of_cells(frames.read(OTHERS, SCHEMA).cells) == inputs.transform(OTHERS)).all()


def test_a_polars_frame_gives_the_same_matrix():
    inputs = l2c.OneHotInput.fit(pl.from_pandas(TRAIN), SCHEMA)
    expected = l2c.OneHotInput.fit(TRAIN, SCHEMA).transform(OTHERS)
    assert (inputs.transform(pl.from_pandas(OTHERS)) == expected).all()


def test_a_column_of_one_value_becomes_zero_and_not_infinite():
    schema = l2c.Schema((l2c.Feature(name="age", kind="numeric"), l2c.Feature(name="fee", kind="numeric")))
    rows = pd.DataFrame({"age": [20, 30, 40], "fee": [5.0, 5.0, 5.0]})
    inputs = l2c.OneHotInput.fit(rows, schema)
    assert inputs.transform(rows)[:, 1].tolist() == [0.0, 0.0, 0.0]
    assert inputs.transform(rows.assign(fee=7.5))[:, 1].tolist() == [2.5, 2.5, 2.5]


def test_a_bad_cell_is_told_when_fitting_and_when_asking():
    bad = TRAIN.assign(job="nurs")[:1]
    told = "column 'job', row 0: 'nurs' is not a known level; did you mean 'nurse'?"
    for act in (lambda: l2c.OneHotInput.fit(bad, SCHEMA), lambda: l2c.OneHotInput.fit(TRAIN, SCHEMA).transform(bad)):
        with pytest.raises(DataError) as caught:
            act()
        assert str(caught.value) == told
