"""Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from l2c.adapters.frames.columnwise import Columnwise, owned
from l2c.adapters.frames.stored import (
    Dtype,
    Positions,
    arrow_column,
    arrow_dtype,
    arrow_type,
    plain_type,
    whole,
)


@dataclass(frozen=True, slots=True)
class ArrowKind(Columnwise):
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

    def value_type(self, dtype: Dtype) -> pa.DataType | None:
        return plain_type(arrow_type(dtype.name))

    def column(self, values: pa.Array, dtype: Dtype) -> Any:
        return pa.chunked_array([arrow_column(values, arrow_type(dtype.name))])

    def gather(self, column: Any, extra: Any, index: Positions) -> Any:
        behind = column if extra is None else pa.chunked_array([*column.chunks, *extra.chunks], type=column.type)
        return behind.take(pa.array(index))

    def frame(self, columns: Mapping[str, Any]) -> Any:
        return pa.table(owned(columns))
