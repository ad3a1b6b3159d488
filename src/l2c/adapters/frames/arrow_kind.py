"""Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from l2c.adapters.frames.stored import (
    Dtype,
    Numbers,
    Part,
    Positions,
    arrow_column,
    arrow_dtype,
    arrow_type,
    plain_type,
    whole,
)
from l2c.core.types import Label


@dataclass(frozen=True, slots=True)
class ArrowKind:
    """Arrow tables as a `FrameKind`."""

    name: str = "arrow"

    def names(self, frame: Any) -> list[Any]:
        return list(frame.column_names)

    def columns(self, frame: Any) -> list[Any]:
        return list(frame.columns)

    def arrow(self, column: Any) -> pa.Array:
        return whole(column)

    def dtype_of(self, column: Any) -> Dtype:
        return arrow_dtype(whole(column))

    def numbers(self, column: Any) -> Numbers | None:  # noqa: ARG002  # columns are no arrays
        return None

    def texts(self, column: Any) -> list[str | None] | None:  # noqa: ARG002  # Arrow is near enough
        return None

    def is_told_by_cells(self, dtype: Dtype, *, numeric: bool) -> bool:  # noqa: ARG002  # it may say more
        return False

    def value_type(self, dtype: Dtype) -> pa.DataType | None:
        return plain_type(arrow_type(dtype.name))

    def holds_missing(self, dtype: Dtype) -> bool:  # noqa: ARG002  # every Arrow type does
        return True

    def array_type(self, dtype: Dtype) -> np.dtype[Any] | None:  # noqa: ARG002  # columns are no arrays
        return None

    def column(self, values: pa.Array, dtype: Dtype) -> Any:
        return pa.chunked_array([arrow_column(values, arrow_type(dtype.name))])

    def gather(self, column: Any, extra: Any, index: Positions) -> Any:
        behind = column if extra is None else pa.chunked_array([*column.chunks, *extra.chunks], type=column.type)
        return behind.take(pa.array(index))

    def gather_all(self, parts: Sequence[Part]) -> list[Any]:
        return [self.gather(*part) for part in parts]

    def joined(self, columns: Sequence[Any]) -> Any:
        return columns

    def gather_joined(self, joined: Any, index: Int64[np.ndarray, "columns rows"]) -> list[Any]:
        return [self.gather(column, None, places) for column, places in zip(joined, index, strict=True)]

    def coded(self, values: tuple[Label, ...], index: Positions) -> Any:
        return [values[place] for place in index.tolist()]

    def frame(self, columns: Mapping[str, Any]) -> Any:
        return pa.table(dict(columns))

    def labels(self, frame: Any) -> list[Any] | None:  # noqa: ARG002  # rows have no labels
        return None
