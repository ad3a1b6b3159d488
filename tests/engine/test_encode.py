"""The networks' input: z of section 3.1, or values in place of one-hot numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from l2c.core.compiled import compiles
from l2c.core.layout import Layout
from l2c.engine import encode
from l2c.engine.encode import Encoder
from tables import SEEDS, layouts, random_cells, small_layout


def slow_values_input(layout: Layout, fit: np.ndarray, row: list[float]) -> list[float]:
    """Return one row's input in `values` mode, written out."""
    parts: list[float] = []
    for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
        gone = math.isnan(row[i])
        if feature.numeric:
            known = [value for value in fit[:, i].tolist() if not math.isnan(value)]
            mean = sum(known) / len(known) if known else 0.0
            spread = math.sqrt(sum((value - mean) ** 2 for value in known) / len(known)) if known else 0.0
            parts.append(0.0 if gone else (row[i] - mean) / (spread or 1.0))
            parts += [1.0 if gone else 0.0] if axis.missing else []
        else:
            level = axis.known if gone else int(row[i])
            parts += [1.0 if j == level else 0.0 for j in range(axis.size)]
    return parts


@given(layouts(), SEEDS)
def test_with_levels_the_input_is_every_feature_one_hot(layout, seed):
    rng = np.random.default_rng(seed)
    fit, rows = random_cells(layout, 9, rng), random_cells(layout, 5, rng)
    encoder = Encoder.fit(layout, "levels", fit)
    assert (encoder(rows) == layout.one_hot(layout.levels(rows))).all()
    assert encoder.width == layout.width


@given(layouts(), SEEDS)
def test_with_values_a_number_is_standardised_and_its_absence_flagged(layout, seed):
    rng = np.random.default_rng(seed)
    fit, rows = random_cells(layout, 9, rng), random_cells(layout, 5, rng)
    encoder = Encoder.fit(layout, "values", fit)
    expected = [slow_values_input(layout, fit, row) for row in rows.tolist()]
    assert encoder.width == len(expected[0])
    np.testing.assert_allclose(encoder(rows), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("inputs", ["levels", "values"])
def test_inputs_are_single_precision_and_finite(inputs):
    layout = small_layout()
    cells = random_cells(layout, 30, np.random.default_rng(0))
    encoded = Encoder.fit(layout, inputs, cells)(cells)
    assert encoded.dtype == np.float32
    assert np.isfinite(encoded).all()


def test_fit_numbers_have_mean_zero_and_deviation_one():
    layout = small_layout()
    cells = random_cells(layout, 200, np.random.default_rng(1))
    encoded = Encoder.fit(layout, "values", cells)(cells)
    assert encoded[:, 0].mean() == pytest.approx(0, abs=1e-5)
    assert encoded[:, 0].std() == pytest.approx(1, abs=1e-5)


def test_a_constant_or_empty_column_is_not_divided_by_nothing():
    layout = small_layout()
    cells = random_cells(layout, 6, np.random.default_rng(2))
    cells[:, 0], cells[:, 1] = 33.0, np.nan
    encoder = Encoder.fit(layout, "values", cells)
    assert (encoder(cells)[:, 0] == 0).all()
    assert (encoder(cells)[:, 1:3] == [0, 1]).all()


def test_standardisation_comes_from_the_fit_rows_alone():
    layout = small_layout()
    rng = np.random.default_rng(3)
    fit, rows = random_cells(layout, 20, rng), random_cells(layout, 4, rng)
    encoder = Encoder.fit(layout, "values", fit)
    assert (encoder(rows)[:1] == encoder(rows[:1])).all()
    assert encoder.mean[0] == pytest.approx(fit[:, 0].mean())


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("inputs", ["levels", "values"])
@given(layout=layouts(), seed=SEEDS)
def test_rows_fill_the_first_places_of_a_longer_matrix_and_leave_the_others(inputs, compiled, layout, seed):
    if compiled and not compiles():
        pytest.skip("numba is not installed")
    cells = random_cells(layout, 6, np.random.default_rng(seed))
    encoder = Encoder.fit(layout, inputs, cells)
    block = np.full((9, encoder.width), 7.0, dtype=np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode, "compiles", lambda: compiled)
        encoder.fill(block, cells)
    assert (block[:6] == encoder(cells)).all()
    assert (block[6:] == 7.0).all()
