"""The input that the paper gives to neural networks: numbers standardised, everything else one-hot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32

import l2c.adapters.frames as frames
from l2c.core.layout import Axis, Layout, categorical_axis
from l2c.core.schema import Schema
from l2c.core.types import Cells
from l2c.engine.encode import Encoder


@dataclass(frozen=True, slots=True, eq=False)
class OneHotInput:
    """A matrix for a neural network from a frame, features in the schema's order.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"hours": range(20, 60), "job": ["clerk", "nurse"] * 20})
    >>> schema = Schema.infer(rows)
    >>> OneHotInput.fit(rows, schema).transform(rows).shape
    (40, 3)
    """

    schema: Schema
    encoder: Encoder

    @classmethod
    def fit(cls, frame: Any, schema: Schema) -> OneHotInput:
        """Return the input whose mean and scale come from a training frame."""
        cells = frames.strict(frames.read(frame, schema))
        return cls(schema, Encoder.fit(_without_bins(schema), "values", cells))

    @property
    def width(self) -> int:
        """The number of columns of the matrix."""
        return self.encoder.width

    def transform(self, frame: Any) -> Float32[np.ndarray, "rows inputs"]:
        """Return the matrix for a frame."""
        return self.of_cells(frames.strict(frames.read(frame, self.schema)))

    def of_cells(self, cells: Cells) -> Float32[np.ndarray, "rows inputs"]:
        """Return the matrix for rows of cells."""
        return self.encoder(cells)


def _without_bins(schema: Schema) -> Layout:
    """Return a layout in which numbers are one wide bin: their values are used, not their levels."""
    wide = (0.0,)
    return Layout(
        schema,
        tuple(
            Axis((), None, None, wide, wide, feature.missing) if feature.numeric else categorical_axis(feature)
            for feature in schema.features
        ),
    )
