"""Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from l2c.adapters.frames.columns import unique_names
from l2c.adapters.frames.columnwise import Columnwise, owned
from l2c.adapters.frames.stored import (
    Dtype,
    Positions,
    arrow_column,
    arrow_dtype,
    arrow_type,
    plain_type,
    whole,
    with_levels,
)
from l2c.core.schema import Schema


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

    def with_levels(self, frame: Any, schema: Schema) -> Any:
        for name in unique_names(frame.column_names):
            place = frame.column_names.index(name)
            if name in schema and pa.types.is_dictionary(frame.field(place).type):
                column = with_levels(whole(frame.column(place)), schema[name])
                frame = frame.set_column(place, frame.field(place).with_type(column.type), column)
        return frame

    def frame(self, columns: Mapping[str, Any]) -> Any:
        return pa.table(owned(columns))
