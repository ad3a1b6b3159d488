"""A black box that is not asked about a row again."""

from __future__ import annotations

import numpy as np
import pytest

from l2c.release.remembering import Remembering
from summing import Summing


@pytest.mark.parametrize("compiled", [True, False])
def test_what_was_asked_is_not_asked_again_and_the_rest_is(compiled, monkeypatch):
    monkeypatch.setattr("l2c.release.remembering.compiles", lambda: compiled)
    rows = np.array([[1.0, 2.0], [0.0, np.nan], [1.0, 2.0], [-1.0, 0.5]])
    model = Summing()
    remembering = Remembering(model)
    expected = Summing().proba(rows)
    assert np.array_equal(remembering.proba(rows), expected, equal_nan=True)
    assert model.asked == [3]
    assert np.array_equal(remembering.proba(rows[::-1]), expected[::-1], equal_nan=True)
    assert model.asked == [3]
    more = np.array([[5.0, 5.0], [1.0, 2.0], [7.0, -7.0]])
    assert np.array_equal(remembering.proba(more), Summing().proba(more))
    assert model.asked == [3, 2]
    assert remembering.classes == (0, 1)
    assert remembering.threshold is None


def test_rows_are_remembered_alike_whether_loops_are_compiled_or_not(monkeypatch):
    generator = np.random.default_rng(0)
    table, dictionary = Remembering(Summing()), Remembering(Summing())
    for size in (3, 1, 200, 40, 0, 700):
        rows = generator.integers(0, 4, (size, 4)).astype(float)
        rows[rows == 3] = np.nan
        told = []
        for model, compiled in ((table, True), (dictionary, False)):
            monkeypatch.setattr("l2c.release.remembering.compiles", lambda compiled=compiled: compiled)
            told.append(model.proba(rows))
        assert np.array_equal(*told, equal_nan=True)
        assert np.array_equal(told[0], Summing().proba(rows), equal_nan=True)
    assert table.blackbox.asked == dictionary.blackbox.asked
