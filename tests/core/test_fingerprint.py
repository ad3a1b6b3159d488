"""A model is recognised by its answers to rows that belong to nobody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given

from l2c.core.fingerprint import PROBES, TOLERANCE, fingerprint, probe_rows, same_model
from l2c.core.layout import Layout
from tables import layouts, small_layout


@dataclass
class Logistic:
    weights: np.ndarray
    classes: tuple[str, ...] = ("no", "yes")

    def proba(self, cells: np.ndarray) -> np.ndarray:
        yes = 1 / (1 + np.exp(-(cells / 50) @ self.weights))
        return np.stack([1 - yes, yes], axis=1)


@given(layouts())
def test_probe_rows_are_complete_rows_of_the_layout_and_the_same_every_time(layout):
    rows = probe_rows(layout)
    assert rows.shape == (PROBES, len(layout.axes))
    assert not np.isnan(rows).any()
    stands = [set(axis.median) for axis in layout.axes]
    assert all(value in stands[i] for row in rows.tolist() for i, value in enumerate(row))
    again = Layout.from_dict(layout.schema, layout.to_dict())
    assert (probe_rows(again) == rows).all()


def test_probe_rows_visit_every_level():
    layout = small_layout()
    levels = layout.levels(probe_rows(layout))
    assert [len(set(column)) for column in levels.T.tolist()] == [axis.known for axis in layout.axes]


def test_a_model_is_like_itself_and_unlike_another():
    layout, weights = small_layout(), np.array([1.0, -0.5, 3.0, 2.0, 1.0])
    mine = fingerprint(Logistic(weights), layout)
    assert same_model(mine, fingerprint(Logistic(weights), layout))
    assert same_model(mine, mine + 0.9 * TOLERANCE)
    assert not same_model(mine, fingerprint(Logistic(weights * 1.01), layout))
    assert not same_model(mine, np.full((PROBES, 3), 1 / 3))
