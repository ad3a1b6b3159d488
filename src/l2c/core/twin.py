"""A model that judges proposals by level: what any such twin is, and the one of linear and neural models.

Proposals of one person differ from one another in levels alone, and a level always adds the same to the first layer of
a linear or neural model. So a sum of table rows stands in for putting a row together and multiplying it. A twin only
looks ahead: what is released is judged by the model itself, and so is whatever comes close to a decision or to an end
of a range.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from l2c.core.blackbox import of_second
from l2c.core.compiled import Compiled, compiles
from l2c.core.exponential import shares
from l2c.core.flat import spread
from l2c.core.layout import Layout
from l2c.core.types import Cells, Levels, Mask, Probabilities

Hidden = Any
"""Rows × units, in the precision of the model: float32 or float64."""


class Twin(ABC):
    """A model over levels.

    A lead that is less than `close` away from what is asked is left to the model itself. A twin whose probabilities are
    off by a tenth of it is none.
    """

    __slots__ = ()
    close: float

    @abstractmethod
    def inputs(self, values: Float64[np.ndarray, "rows width"]) -> Any:
        """Return what proposals are judged from, given the value that stands at each place for each row."""

    @abstractmethod
    def proba(self, inputs: Any, row: Int64[np.ndarray, " n"], levels: Levels) -> Probabilities:
        """Return the probability of each class for proposals, from the inputs of their rows."""

    @abstractmethod
    def of_cells(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for whole rows."""

    @property
    def by_arithmetic(self) -> bool:
        """Whether it answers without running anything of the model's own, and so can be asked in several threads."""
        return True

    def agrees(self, foreseen: Probabilities, proba: Probabilities) -> Mask:
        """Return for which rows the model's own answers are what the twin foresaw, but for rounding."""
        return np.asarray(np.abs(foreseen - proba).max(axis=1, initial=0.0) <= self.close / 10)

    def off(self, cells: Cells, proba: Probabilities) -> float:
        """Return how far the twin's answers for some rows are from the model's own, at the most."""
        return float(np.abs(self.of_cells(cells) - proba).max(initial=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class LayerTwin(Twin):
    """A linear or neural model over levels: its first layer as a sum over features, and what comes after it.

    Parameters
    ----------
    weights
        What a unit of input at each place of the flat axis adds to each unit of the first layer.
    numeric
        Which places take a number, standardised by `mean` and `scale`; at all others the input is 1.
    bias
        What the first layer starts from.
    scores
        From the first layer's sums to a score for each class, whose softmax are the probabilities. None where the sums
        are these scores; a single one is that of the second class, and the first class's is 0.
    dense
        The layers that follow, where each is linear and comes after cutting off what is below 0: weights, inputs ×
        outputs, and bias. There are none where sums are scores; None if there are others.
    close
        How close to a decision, or to an end of a range, is left to the model itself.
    """

    layout: Layout
    weights: Hidden
    numeric: Bool[np.ndarray, " width"]
    mean: Float64[np.ndarray, " width"]
    scale: Float64[np.ndarray, " width"]
    bias: Hidden
    scores: Callable[[Hidden], np.ndarray] | None
    close: float
    dense: tuple[tuple[np.ndarray, np.ndarray], ...] | None = ()

    @property
    def by_arithmetic(self) -> bool:
        return self.dense is not None

    def inputs(self, values: Float64[np.ndarray, "rows width"]) -> Hidden:
        """Return the input at each place, given the value that stands there for each row."""
        if compiles():
            return inputs_at(values, self.numeric, self.mean, self.scale, self.weights)
        inputs = np.ones(values.shape, dtype=self.weights.dtype)
        places = np.flatnonzero(self.numeric)
        inputs[:, places] = (values[:, places] - self.mean[places]) / self.scale[places]
        return inputs

    def proba(self, inputs: Hidden, row: Int64[np.ndarray, " n"], levels: Levels) -> Probabilities:
        """Return the probability of each class for proposals, from the inputs of their rows."""
        add_up = first_layer if compiles() else first_layer_at_once
        return self._of_sums(add_up(inputs, row, levels, self.layout.offsets, self.weights, self.bias))

    def _of_sums(self, sums: Hidden) -> Probabilities:
        """Return the probability of each class, from the first layer's sums."""
        return softmax(sums if self.scores is None else self.scores(sums))

    def _through(self, sums: Hidden) -> Hidden:
        """Return the scores of rows from the first layer's sums, through the dense layers that follow."""
        for weights, bias in self.dense or ():
            sums = np.maximum(sums, 0) @ weights + bias
        return sums

    @property
    def log_odds(self) -> tuple[Float64[np.ndarray, " width"], float]:
        """What a unit of input at each place adds to the log-odds of the second of two classes, and their start.

        It is told where the sums are scores.
        """
        weights, bias = self.weights.astype(np.float64), self.bias.astype(np.float64)
        if len(bias) == 1:
            return weights[:, 0], float(bias[0])
        return weights[:, 1] - weights[:, 0], float(bias[1] - bias[0])

    def of_cells(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for whole rows."""
        levels = self.layout.levels(cells)
        if compiles():
            given = (self.layout.offsets, self.numeric, self.mean, self.scale, self.weights, self.bias)
            sums = first_layer_of_rows(cells, levels, *given)
            return self._of_sums(sums) if self.dense is None else softmax(self._through(sums))
        values = spread(self.layout, self.layout.representatives("median"), levels, cells)
        return self.proba(self.inputs(values), np.arange(len(cells)), levels)


@Compiled
def inputs_at(
    values: Float64[np.ndarray, "rows width"],
    numeric: Bool[np.ndarray, " width"],
    mean: Float64[np.ndarray, " width"],
    scale: Float64[np.ndarray, " width"],
    weights: Hidden,
) -> Hidden:
    """Return the input at each place, in the precision of the weights."""
    inputs = np.ones(values.shape, weights.dtype)
    for row in range(len(values)):
        for place in range(len(numeric)):
            if numeric[place]:
                inputs[row, place] = (values[row, place] - mean[place]) / scale[place]
    return inputs


@Compiled
def first_layer(
    inputs: Hidden,
    row: Int64[np.ndarray, " n"],
    levels: Levels,
    offsets: Int64[np.ndarray, " features"],
    weights: Hidden,
    bias: Hidden,
) -> Hidden:
    """Return the first layer's sums for proposals, added feature by feature."""
    sums = np.empty((len(row), len(bias)), weights.dtype)
    for n in range(len(row)):
        sums[n] = bias
        for i in range(len(offsets)):
            place = offsets[i] + levels[n, i]
            x = inputs[row[n], place]
            for unit in range(len(bias)):
                sums[n, unit] += x * weights[place, unit]
    return sums


@Compiled
def first_layer_of_rows(
    cells: Cells,
    levels: Levels,
    offsets: Int64[np.ndarray, " features"],
    numeric: Bool[np.ndarray, " width"],
    mean: Float64[np.ndarray, " width"],
    scale: Float64[np.ndarray, " width"],
    weights: Hidden,
    bias: Hidden,
) -> Hidden:
    """Return the first layer's sums for whole rows, whose inputs are at the places of their own levels."""
    sums, input_at = np.empty((len(cells), len(bias)), weights.dtype), np.empty(1, weights.dtype)
    for row in range(len(cells)):
        sums[row] = bias
        for i in range(len(offsets)):
            place = offsets[i] + levels[row, i]
            input_at[0] = (cells[row, i] - mean[place]) / scale[place] if numeric[place] else 1.0
            for unit in range(len(bias)):
                sums[row, unit] += input_at[0] * weights[place, unit]
    return sums


def first_layer_at_once(
    inputs: Hidden,
    row: Int64[np.ndarray, " n"],
    levels: Levels,
    offsets: Int64[np.ndarray, " features"],
    weights: Hidden,
    bias: Hidden,
) -> Hidden:
    """Return what `first_layer` returns, all proposals at once."""
    sums = np.tile(bias, (len(row), 1))
    for i, start in enumerate(offsets):
        place = start + levels[:, i].astype(np.int64)
        sums += inputs[row, place][:, None] * weights[place]
    return sums


def softmax(scores: np.ndarray) -> Probabilities:
    """Return the probability of each class from its score; a single one is the second's, and the first's is then 0."""
    if scores.shape[1] <= 2:
        second = scores[:, -1].astype(np.float64)
        return of_second(shares(second - scores[:, 0] if scores.shape[1] == 2 else second))
    mass = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float64)
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))
