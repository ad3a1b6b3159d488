"""From rows to the input of the networks: z, or values in place of one-hot numbers (section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64

from l2c.core.compiled import Compiled, compiles
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.types import Cells

Columns = Int64[np.ndarray, " features"]


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """The input of the networks for a batch of rows.

    With `inputs="levels"` it is z, every feature one-hot. With `inputs="values"`, the paper's heterogeneous
    mode, a numeric feature is its standardised value, with a flag beside it where it may be missing.
    """

    layout: Layout
    inputs: Literal["levels", "values"]
    mean: Float64[np.ndarray, " features"]
    scale: Float64[np.ndarray, " features"]
    _columns: tuple[Bool[np.ndarray, " features"], Columns, Columns, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_columns", _columns_of(self.layout))

    @classmethod
    def fit(cls, layout: Layout, inputs: Literal["levels", "values"], cells: Cells) -> Encoder:
        """Return the encoder whose standardisation comes from the fit rows."""
        known = ~np.isnan(cells)
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, cells, 0.0).sum(axis=0) / count
        spread = np.sqrt(np.where(known, (cells - mean) ** 2, 0.0).sum(axis=0) / count)
        return cls(layout, inputs, mean, np.where(spread > 0, spread, 1.0))

    @property
    def width(self) -> int:
        return self.layout.width if self.inputs == "levels" else self._columns[-1]

    def __call__(self, cells: Cells) -> Float32[np.ndarray, "rows inputs"]:
        encoded = np.empty((len(cells), self.width), dtype=np.float32)
        self.fill(encoded, cells)
        return encoded

    def fill(self, encoded: Float32[np.ndarray, "more inputs"], cells: Cells) -> None:
        """Write the input of rows into the first ones of a matrix."""
        if self.inputs == "levels":
            places = self.layout.levels(cells) + self.layout.offsets
            (_set if compiles() else _set_at_once)(encoded, places)
            return
        numeric, first, flag, _ = self._columns
        (_fill if compiles() else _fill_at_once)(encoded, cells, numeric, self.mean, self.scale, first, flag)


def _columns_of(layout: Layout) -> tuple[Bool[np.ndarray, " features"], Columns, Columns, int]:
    """Return which features are numbers, where the columns of each begin, where missing ones are told, and the width.

    Where a value cannot be missing that place is −1.
    """
    numeric = np.array([feature.numeric for feature in layout.schema.features])
    known, missing = (np.array([getattr(axis, name) for axis in layout.axes]) for name in ("known", "missing"))
    widths = np.where(numeric, 1, known) + missing
    first = np.cumsum(widths) - widths
    return numeric, first, np.where(missing, first + widths - 1, -1), int(widths.sum())


@Compiled
def _set(encoded: Float32[np.ndarray, "rows inputs"], places: Int64[np.ndarray, "some features"]) -> None:
    """Set the columns at some places of each row to 1, and the others to 0."""
    for row in range(len(places)):
        for column in range(encoded.shape[1]):
            encoded[row, column] = 0.0
        for i in range(places.shape[1]):
            encoded[row, np.uint64(places[row, i])] = 1.0


def _set_at_once(encoded: Float32[np.ndarray, "rows inputs"], places: Int64[np.ndarray, "some features"]) -> None:
    """Do what `_set` does, all rows at once."""
    encoded[: len(places)] = 0.0
    np.put_along_axis(encoded[: len(places)], places, 1.0, axis=1)


@Compiled
def _fill(
    encoded: Float32[np.ndarray, "rows inputs"],
    cells: Cells,
    numeric: Bool[np.ndarray, " features"],
    mean: Float64[np.ndarray, " features"],
    scale: Float64[np.ndarray, " features"],
    first: Columns,
    flag: Columns,
) -> None:
    """Fill in the input of the networks: numbers standardised, the column of a level or of "missing" set to 1."""
    # A place that cannot be negative is looked up without being tested for it.
    for row in range(len(cells)):
        for column in range(encoded.shape[1]):
            encoded[row, column] = 0.0
        for i in range(len(first)):
            value = cells[row, i]
            if np.isnan(value):
                if flag[i] >= 0:
                    encoded[row, np.uint64(flag[i])] = 1.0
            elif numeric[i]:
                encoded[row, np.uint64(first[i])] = (value - mean[i]) / scale[i]
            else:
                encoded[row, np.uint64(first[i] + np.int64(value))] = 1.0


def _fill_at_once(
    encoded: Float32[np.ndarray, "rows inputs"],
    cells: Cells,
    numeric: Bool[np.ndarray, " features"],
    mean: Float64[np.ndarray, " features"],
    scale: Float64[np.ndarray, " features"],
    first: Columns,
    flag: Columns,
) -> None:
    """Do what `_fill` does, column by column."""
    encoded[: len(cells)] = 0.0
    for i, column in enumerate(cells.T):
        there, gone = (np.flatnonzero(which) for which in (~np.isnan(column), np.isnan(column)))
        if numeric[i]:
            encoded[there, first[i]] = (column[there] - mean[i]) / scale[i]
        else:
            encoded[there, first[i] + column[there].astype(np.int64)] = 1.0
        if flag[i] >= 0:
            encoded[gone, flag[i]] = 1.0


def inputs_of(encoder: Encoder, question: Question) -> Float32[np.ndarray, "rows inputs"]:
    """Return what the networks see of a question: each row and, of more than two classes, the one that it should get.

    Of two classes it is the one that the row has not, and telling it would tell nothing.
    """
    rows, classes = encoder(question.cells), question.goal.accepted.shape[1]
    return rows if classes <= 2 else np.hstack([rows, np.eye(classes, dtype=np.float32)[question.desired]])
