"""Few rows and their first proposals in one question: the same answers, in fewer calls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

import l2c
from loans import WIDE, twisted, wide_desk, wide_rows


@dataclass
class Counted:
    """A model that counts its calls."""

    blackbox: object
    calls: int = 0
    rows: int = 0

    def __getattr__(self, name):
        return getattr(self.blackbox, name)

    def proba(self, cells):
        self.calls, self.rows = self.calls + 1, self.rows + len(cells)
        return self.blackbox.proba(cells)


REQUESTS = (
    {"n": 5},
    {"n": 5, "plausibility": 0.0},
    {"n": 3, "select": "balanced", "pool": 30},
    {"n": 3, "max_changes": 3},
    {"n": 3, "desired": 1},
    {"n": 3, "desired": 0},
    {"n": 3, "desired_proba": (0.2, 0.9), "desired": 1},
    {"n": 3, "lock": ["x0"], "permit": {"x1": (-1, 2)}, "max_cost": 6.0},
    {"n": 3, "robust": 0.1},
    {"n": 3, "tries": 7},
)


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_few_rows_get_the_answer_that_they_would_get_call_by_call(request_, monkeypatch):
    explainer, fewer = wide_desk(seen=False), 0
    for rows in (wide_rows(12, 5)[:1], wide_rows(12, 5)[1:2], wide_rows(12, 5)[2:9]):
        ahead, plain = (replace(explainer, blackbox=Counted(explainer.blackbox)) for _ in range(2))
        found = ahead.explain(rows, reasons=False, **request_)
        with monkeypatch.context() as patch:
            patch.setattr("l2c.app.answering.MOST", 0)
            expected = plain.explain(rows, reasons=False, **request_)
        assert found.to_frame().equals(expected.to_frame())
        assert found.outcomes == expected.outcomes
        assert ahead.blackbox.calls <= plain.blackbox.calls
        fewer += plain.blackbox.calls - ahead.blackbox.calls
    assert fewer > 0 or all(outcome.status == "already" for outcome in found.outcomes)


@cache
def foreseeing_desk():
    """Return an explainer that has learned to foresee a model that is not seen into."""
    return l2c.L2C(epochs=2, select="first").fit(wide_rows(200, 0), twisted, WIDE)


@pytest.mark.parametrize("sure", [0.0, 0.5, np.inf])
def test_a_guess_of_what_a_row_is_changes_what_is_asked_and_no_answer(sure, monkeypatch):
    monkeypatch.setattr("l2c.app.ahead.SURE", sure)
    calls = []
    for place in range(12):
        rows = wide_rows(12, 5)[place : place + 1]
        ahead, plain = (replace(foreseeing_desk(), blackbox=Counted(foreseeing_desk().blackbox)) for _ in range(2))
        found = ahead.explain(rows, 3, reasons=False)
        with monkeypatch.context() as patch:
            patch.setattr("l2c.app.answering.MOST", 0)
            expected = plain.explain(rows, 3, reasons=False)
        assert found.to_frame().equals(expected.to_frame())
        assert found.outcomes == expected.outcomes
        calls.append(ahead.blackbox.calls)
    # Some guesses are wrong, and most are right.
    assert np.median(calls) == 1
    assert max(calls) > 1 or sure


def test_where_it_is_clear_what_a_row_is_half_as_much_is_asked_ahead(monkeypatch):
    rows, asked = wide_rows(12, 5), []
    for sure in (0.0, np.inf):
        monkeypatch.setattr("l2c.app.ahead.SURE", sure)
        counted = Counted(foreseeing_desk().blackbox)
        for place in range(12):
            replace(foreseeing_desk(), blackbox=counted).explain(rows[place : place + 1], 3, reasons=False)
        asked.append(counted.rows)
    assert asked[0] < 0.75 * asked[1]


def test_a_threshold_decides_what_is_asked_ahead():
    rows = wide_rows(80, 0)
    explainer = l2c.L2C(epochs=0, select="first").fit(
        wide_rows(200, 0), wide_desk(seen=False)._model, wide_desk(seen=False).schema, threshold=0.2
    )
    one_by_one = [explainer.explain(rows[row : row + 1], 3) for row in range(10)]
    together = explainer.explain(rows, 3)
    assert [one.outcomes[0] for one in one_by_one] == list(together.outcomes[:10])
