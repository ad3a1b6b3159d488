"""An exact differentiable twin of a model whose log-odds are a sum over the features.

Logistic regression behind scaling and one-hot encoding is one. The twin is not read out of the pipeline, whose
steps may be of any make: it is measured, by asking the model about one row with one feature changed at a time,
and it is used only if it then agrees with the model on real rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from l2c.core.blackbox import BlackBox
from l2c.core.layout import Layout
from l2c.core.sight import TOLERANCE
from l2c.core.types import Cells, Probabilities

if TYPE_CHECKING:
    from torch import Tensor

CHECKED_ROWS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveTwin:
    """Log-odds against the first class: an intercept, a slope per number, an entry per other level."""

    layout: Layout
    intercept: Float64[np.ndarray, " classes"]
    slopes: Float64[np.ndarray, "features classes"]
    entries: Float64[np.ndarray, "width classes"]

    def proba(self, cells: Cells) -> Probabilities:
        """Return the twin's probabilities for hard rows."""
        places = self.layout.levels(cells) + self.layout.offsets
        odds = self.intercept + np.nan_to_num(cells) @ self.slopes + self.entries[places].sum(axis=1)
        odds -= odds.max(axis=1, keepdims=True)
        mass = np.exp(odds)
        return np.asarray(mass / mass.sum(axis=1, keepdims=True))

    def logits(self, values: Tensor, one_hot: Tensor) -> Tensor:
        """Return class logits for soft rows, with gradients."""
        intercept, slopes, entries = (values.new_tensor(part) for part in (self.intercept, self.slopes, self.entries))
        return intercept + values @ slopes + one_hot @ entries


def additive_twin(blackbox: BlackBox, layout: Layout, rows: Cells) -> AdditiveTwin | None:
    """Return the model's additive twin, or None if it has none.

    Parameters
    ----------
    rows
        Real rows: one of them is the base of the measurement, and all of them (up to a thousand) check it.
    """
    checked = rows[:CHECKED_ROWS]
    complete = ~np.isnan(checked).any(axis=1)
    if not complete.any():
        return None
    answers = blackbox.proba(checked)
    # The least decided row: there the log-odds lose no digits.
    base = checked[np.where(complete, answers.max(axis=1), np.inf).argmin()]
    twin = _measured(blackbox, layout, base, rows)
    agrees = np.abs(twin.proba(checked) - answers).max() <= TOLERANCE
    return twin if agrees else None


def _measured(blackbox: BlackBox, layout: Layout, base: Cells, rows: Cells) -> AdditiveTwin:
    """Return the twin that one-feature-at-a-time answers describe, right or wrong."""
    probes, places = _probes(layout, base, rows)
    odds = _log_odds(blackbox.proba(np.vstack([base[None, :], probes])))
    effect = odds[1:] - odds[0]
    features, classes = len(layout.axes), odds.shape[1]
    slopes, entries = np.zeros((features, classes)), np.zeros((layout.width, classes))
    for (i, place), change, probe in zip(places, effect, probes, strict=True):
        if place is not None:
            entries[place] = change
        elif probe[i] != base[i]:
            slopes[i] = change / (probe[i] - base[i])
    numeric = np.array([feature.numeric for feature in layout.schema.features])
    for i, axis in enumerate(layout.axes):
        if numeric[i] and axis.missing:
            # A soft row counts a missing number as 0, so its entry carries what the base's number added.
            entries[layout.offsets[i] + axis.known] += base[i] * slopes[i]
    return AdditiveTwin(layout, odds[0] - (base * numeric) @ slopes, slopes, entries)


def _probes(layout: Layout, base: Cells, rows: Cells) -> tuple[Cells, list[tuple[int, int | None]]]:
    """Return rows that differ from the base in one feature, and which place of the flat axis each measures."""
    probes, places = [], []
    for i, (feature, axis) in enumerate(zip(layout.schema.features, layout.axes, strict=True)):
        start = int(layout.offsets[i])
        values: list[float] = [_another(base[i], rows[:, i])] if feature.numeric else [*range(axis.known)]
        targets: list[int | None] = [None] if feature.numeric else [*range(start, start + axis.known)]
        if axis.missing and np.isnan(rows[:, i]).any():
            # Where no row lacks the value, the model may not know what to do without it.
            values.append(np.nan)
            targets.append(start + axis.known)
        for value, target in zip(values, targets, strict=True):
            probe = base.copy()
            probe[i] = value
            probes.append(probe)
            places.append((i, target))
    return np.array(probes), places


def _another(value: float, column: Float64[np.ndarray, " rows"]) -> float:
    """Return a typical value of a column that is not the given one, or the given one if there is no other."""
    others = column[(column != value) & ~np.isnan(column)]
    return float(np.quantile(others, 0.5, method="nearest")) if len(others) else value


def _log_odds(proba: Probabilities) -> Float64[np.ndarray, "rows classes"]:
    logs = np.log(np.clip(proba, 1e-300, None))
    return logs - logs[:, :1]
