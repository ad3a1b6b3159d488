"""What there is at levels and by feature, against loops that spell it out; compiled, as plain Python, and in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from compiling import uncompiled
from l2c.core import flat
from l2c.core.compiled import compiles
from l2c.core.flat import at_levels, counted, differing, put_at_levels
from laws import layout_of

LAYOUT = layout_of((3, 1, 4, 2))
WAYS = [pytest.param(True, marks=pytest.mark.skipif(not compiles(), reason="numba is not installed")), False, None]
"""Compiled, in numpy, and the compiled loops as the Python that they are."""


@pytest.fixture(params=WAYS, ids=["compiled", "numpy", "plain"])
def _way(request, monkeypatch):
    monkeypatch.setattr(flat, "compiles", lambda: request.param is not False)
    if request.param is None:
        with uncompiled(flat):
            yield
    else:
        yield


def world(rows: int = 7) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(rows)
    levels = rng.integers(0, LAYOUT.sizes, (rows, len(LAYOUT.sizes))).astype(np.int16)
    return rng.random((rows, LAYOUT.width)) < 0.5, levels, rng


def segments(row: int, flat_axis: np.ndarray) -> list[np.ndarray]:
    return [flat_axis[row, start : start + size] for start, size in zip(LAYOUT.offsets, LAYOUT.sizes, strict=True)]


@pytest.mark.usefixtures("_way")
def test_truths_are_counted_by_feature_and_found_at_levels():
    truths, levels, _ = world()
    assert counted(LAYOUT, truths).tolist() == [[part.sum() for part in segments(row, truths)] for row in range(7)]
    expected = [
        [part[level] for part, level in zip(segments(row, truths), levels[row], strict=True)] for row in range(7)
    ]
    assert at_levels(LAYOUT, truths, levels).tolist() == expected


@pytest.mark.usefixtures("_way")
def test_numbers_are_put_at_levels_and_nowhere_else():
    _, levels, rng = world()
    before, cells = rng.random((7, LAYOUT.width)), rng.random(levels.shape)
    after, expected = before.copy(), before.copy()
    put_at_levels(LAYOUT, after, levels, cells)
    for row in range(7):
        for part, level, cell in zip(segments(row, expected), levels[row], cells[row], strict=True):
            part[level] = cell
    assert (after == expected).all()


@pytest.mark.usefixtures("_way")
def test_nothing_differs_from_itself_not_even_what_is_missing():
    numbers, others = np.array([[1.0, np.nan, np.nan, 2.0]]), np.array([[1.0, np.nan, 3.0, 4.0]])
    assert differing(numbers, others).tolist() == [[False, False, True, True]]
