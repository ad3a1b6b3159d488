"""pandas data frames: numpy, nullable, Arrow-backed, categorical and object columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

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
class PandasKind:
    """pandas data frames as a `FrameKind`."""

    name: str = "pandas"

    def names(self, frame: Any) -> list[Any]:
        return list(frame.columns)

    def arrow(self, column: Any) -> pa.Array:
        return whole(pa.Array.from_pandas(column))

    def dtype_of(self, column: Any) -> Dtype:
        name = _name(column.dtype)
        if isinstance(column.dtype, pd.CategoricalDtype):
            return Dtype(name, tuple(column.dtype.categories.tolist()), bool(column.dtype.ordered))
        if isinstance(column.dtype, pd.ArrowDtype):
            stored = arrow_dtype(self.arrow(column))
            return Dtype(name, stored.categories, stored.ordered)
        return Dtype(name, none=name == "object" and _says_none(column))

    def value_type(self, dtype: Dtype) -> pa.DataType | None:
        return None if dtype.name == "object" else _value_type(dtype)

    def holds_missing(self, dtype: Dtype) -> bool:
        native = _native(dtype)
        return not isinstance(native, np.dtype) or native.kind in "fO"

    def column(self, values: pa.Array, dtype: Dtype) -> Any:
        native: Any = _native(dtype)
        if isinstance(native, pd.CategoricalDtype):
            codes = values.indices.fill_null(-1).to_numpy()
            return pd.Series(pd.Categorical.from_codes(codes, dtype=native))
        if isinstance(native, np.dtype):
            numpy = _objects(values, dtype) if native.kind == "O" else values.to_numpy(zero_copy_only=False)
            return pd.Series(numpy, dtype=native)
        if isinstance(native, pd.ArrowDtype):
            values = arrow_column(values, native.pyarrow_dtype)
        return pd.Series(native.__from_arrow__(values))

    def gather(self, column: Any, extra: Any, index: Positions) -> Any:
        if column.dtype == object:
            # Of plain objects pandas would make texts or numbers where it can.
            values = column.to_numpy() if extra is None else np.concatenate([column.to_numpy(), extra.to_numpy()])
            return pd.Series(values[index], dtype=object)
        if extra is None:
            return column.array.take(index)
        # Arrays alone: a Series for every step would cost more than the step.
        extra = extra if extra.dtype == column.dtype else extra.astype(column.dtype)
        if isinstance(column.dtype, np.dtype):
            return np.concatenate([column.to_numpy(), extra.to_numpy()])[index]
        return type(column.array)._concat_same_type([column.array, extra.array]).take(index)

    def frame(self, columns: Mapping[str, Any]) -> Any:
        return pd.DataFrame(dict(columns), copy=False)

    def labels(self, frame: Any) -> list[Any] | None:
        plain = frame.index.equals(pd.RangeIndex(len(frame)))
        return None if plain else frame.index.tolist()


def _name(native: Any) -> str:
    if isinstance(native, pd.CategoricalDtype):
        return f"category[{_name(native.categories.dtype)}]"
    if isinstance(native, pd.ArrowDtype):
        return f"ArrowDtype({native.pyarrow_dtype})"
    return f"string[{native.storage}]" if str(native) == "string" else str(native)


@lru_cache(maxsize=1024)
def _value_type(dtype: Dtype) -> pa.DataType:
    return plain_type(pa.Array.from_pandas(pd.Series([], dtype=_native(dtype))).type)


@lru_cache(maxsize=1024)
def _native(dtype: Dtype) -> Any:
    if dtype.name.startswith("category["):
        inner = _native(Dtype(dtype.name.removeprefix("category[")[:-1]))
        return pd.CategoricalDtype(pd.Index(list(dtype.categories or ()), dtype=inner), dtype.ordered)
    if dtype.name.startswith("ArrowDtype("):
        return pd.ArrowDtype(arrow_type(dtype.name.removeprefix("ArrowDtype(")[:-1]))
    return pd.api.types.pandas_dtype(dtype.name)


def _says_none(column: Any) -> bool:
    missing = column[column.isna()]
    return len(missing) > 0 and missing.iloc[0] is None


def _objects(values: pa.Array, dtype: Dtype) -> Any:
    """Return plain Python values, so that an object column holds no numpy scalars."""
    found = np.array(values.to_pylist(), dtype=object)
    if not dtype.none:
        found[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return found
