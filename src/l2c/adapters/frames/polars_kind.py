"""polars data frames, reached through narwhals so that polars stays optional."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from l2c.adapters.frames.columnwise import Columnwise, owned
from l2c.adapters.frames.stored import Dtype, Positions, plain_type
from l2c.errors import MissingExtraError


def _polars() -> Any:
    try:
        return nw.Implementation.POLARS.to_native_namespace()
    except ImportError as error:
        raise MissingExtraError("a polars data frame", "polars", "polars") from error


@dataclass(frozen=True, slots=True)
class PolarsKind(Columnwise):
    """polars data frames as a `FrameKind`."""

    name: str = "polars"

    def names(self, frame: Any) -> list[Any]:
        return list(frame.columns)

    def columns(self, frame: Any) -> list[Any]:
        return list(frame.get_columns())

    def arrow(self, column: Any) -> pa.Array:
        if self.dtype_of(column).name == "Categorical":
            # Its categories are shared with every other column of the process: they declare nothing.
            column = column.cast(_polars().String)
        return column.to_arrow()

    def dtype_of(self, column: Any) -> Dtype:
        name = re.sub(r"^(Enum|Categorical)\(.*", r"\1", str(column.dtype), flags=re.DOTALL)
        return Dtype(name, tuple(column.dtype.categories), ordered=True) if name == "Enum" else Dtype(name)

    def value_type(self, dtype: Dtype) -> pa.DataType | None:
        return plain_type(self.arrow(_polars().Series([], dtype=_native(dtype))).type)

    def column(self, values: pa.Array, dtype: Dtype) -> Any:
        plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        return _polars().from_arrow(plain).cast(_native(dtype))

    def gather(self, column: Any, extra: Any, index: Positions) -> Any:
        return column[index] if extra is None else column.clone().append(extra.cast(column.dtype))[index]

    def frame(self, columns: Mapping[str, Any]) -> Any:
        return _polars().DataFrame(owned(columns))


def _native(dtype: Dtype) -> Any:
    if dtype.categories is not None:
        return _polars().Enum(list(dtype.categories))
    name, *settings = re.findall(r"\w+", re.sub(r"\w+=", "", dtype.name))
    kind = getattr(_polars(), name)
    return kind(*map(int, settings)) if settings else kind
