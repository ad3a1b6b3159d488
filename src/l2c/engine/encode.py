"""From rows to the input of the networks: z, or values in place of one-hot numbers (section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64

from l2c.core.compiled import Compiled, compiles
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.types import Cells


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
        return self(np.zeros((1, len(self.mean)))).shape[1]

    def __call__(self, cells: Cells) -> Float32[np.ndarray, "rows inputs"]:
        if self.inputs == "levels":
            return self.layout.one_hot(self.layout.levels(cells))
        numeric, missing = self.layout.numeric, self.layout.sizes > self.layout.known
        widths = np.where(numeric, 1, self.layout.known) + missing
        # Where a feature's columns begin, and where its missing values are flagged; -1 if they cannot be missing.
        first = np.cumsum(widths) - widths
        flag = np.where(missing, first + widths - 1, -1)
        encoded = np.zeros((len(cells), int(widths.sum())), dtype=np.float32)
        (_fill if compiles() else _fill_at_once)(encoded, cells, numeric, self.mean, self.scale, first, flag)
        return encoded


Columns = Int64[np.ndarray, " features"]


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
    for row in range(len(cells)):
        for i in range(len(first)):
            value = cells[row, i]
            if np.isnan(value):
                if flag[i] >= 0:
                    encoded[row, flag[i]] = 1.0
            elif numeric[i]:
                encoded[row, first[i]] = (value - mean[i]) / scale[i]
            else:
                encoded[row, first[i] + np.int64(value)] = 1.0


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
    for i, column in enumerate(cells.T):
        gone = np.isnan(column)
        there = np.flatnonzero(~gone)
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
