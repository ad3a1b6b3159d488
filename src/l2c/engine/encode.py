"""From rows to the input of the networks: z, or values in place of one-hot numbers (section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float32, Float64

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
        hot = self.layout.one_hot(self.layout.levels(cells))
        if self.inputs == "levels":
            return hot
        parts = []
        for i, (feature, axis) in enumerate(zip(self.layout.schema.features, self.layout.axes, strict=True)):
            start = int(self.layout.offsets[i])
            if feature.numeric:
                value = np.nan_to_num((cells[:, i] - self.mean[i]) / self.scale[i])
                parts += [value[:, None], hot[:, start + axis.known : start + axis.size]]
            else:
                parts.append(hot[:, start : start + axis.size])
        return np.concatenate(parts, axis=1).astype(np.float32)


def inputs_of(encoder: Encoder, question: Question) -> Float32[np.ndarray, "rows inputs"]:
    """Return what the networks see of a question: each row and, of more than two classes, the one that it should get.

    Of two classes it is the one that the row has not, and telling it would tell nothing.
    """
    rows, classes = encoder(question.cells), question.goal.accepted.shape[1]
    return rows if classes <= 2 else np.hstack([rows, np.eye(classes, dtype=np.float32)[question.desired]])
