"""pandas data frames: numpy, nullable, Arrow-backed, categorical and object columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from l2c.adapters.frames.stored import (
    Dtype,
    Part,
    Positions,
    arrow_column,
    arrow_dtype,
    arrow_type,
    plain_type,
    whole,
)

FEW = 4096
"""Rows up to which all columns of texts are gathered at once."""


@dataclass(frozen=True, slots=True)
class PandasKind:
    """pandas data frames as a `FrameKind`."""

    name: str = "pandas"

    def names(self, frame: Any) -> list[Any]:
        return list(frame.columns.tolist())

    def columns(self, frame: Any) -> list[Any]:
        walk = getattr(frame, "_iter_column_arrays", None)
        # Arrays alone: a Series for every column would cost more than what is done with it.
        return list(walk()) if walk else [frame.iloc[:, place].values for place in range(frame.shape[1])]

    def arrow(self, column: Any) -> pa.Array:
        return whole(pa.array(column, from_pandas=True))

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

    def array_type(self, dtype: Dtype) -> np.dtype[Any] | None:
        native = _native(dtype)
        return native if isinstance(native, np.dtype) and native.kind in "iuf" else None

    def column(self, values: pa.Array, dtype: Dtype) -> Any:
        native: Any = _native(dtype)
        if isinstance(native, pd.CategoricalDtype):
            codes = values.indices.fill_null(-1).to_numpy()
            return pd.Categorical.from_codes(codes, dtype=native)
        if isinstance(native, np.dtype):
            numpy = _objects(values, dtype) if native.kind == "O" else values.to_numpy(zero_copy_only=False)
            return numpy.astype(native, copy=False)
        if isinstance(native, pd.ArrowDtype):
            values = arrow_column(values, native.pyarrow_dtype)
        return native.__from_arrow__(values)

    def gather(self, column: Any, extra: Any, index: Positions) -> Any:
        if extra is not None and extra.dtype != column.dtype:
            extra = extra.astype(column.dtype)
        if isinstance(column, np.ndarray):
            return (column if extra is None else np.concatenate([column, extra]))[index]
        if isinstance(column, pd.Categorical):
            codes = column.codes if extra is None else np.concatenate([column.codes, extra.codes])
            return pd.Categorical.from_codes(codes[index], dtype=column.dtype, validate=False)
        if isinstance(column, pd.arrays.ArrowExtensionArray):
            native: Any = column.dtype
            parts = [whole(pa.array(part)) for part in (column, extra) if part is not None]
            return native.__from_arrow__(pa.concat_arrays(parts).take(pa.array(index)))
        behind = column if extra is None else type(column)._concat_same_type([column, extra])
        return behind.take(index)

    def gather_all(self, parts: Sequence[Part]) -> list[Any]:
        texts = [place for place, (column, _, index) in enumerate(parts) if _is_text(column) and len(index) <= FEW]
        # Texts of all columns at once: for few rows a step of Arrow costs more than the values that it moves.
        found = dict(zip(texts, _gathered([parts[place] for place in texts]), strict=True))
        return [found[place] if place in found else self.gather(*part) for place, part in enumerate(parts)]

    def frame(self, columns: Mapping[str, Any]) -> Any:
        arrays, at_once = [_stored(column) for column in columns.values()], getattr(pd.DataFrame, "_from_arrays", None)
        if at_once is None or not arrays or not all(array.dtype.kind in "biufO" for array in arrays):
            return pd.DataFrame(dict(zip(columns, map(_kept, arrays), strict=True)), copy=False)
        # What is stored already need not be looked at again, column by column.
        index = pd.RangeIndex(len(arrays[0]))
        return at_once(arrays, _index(tuple(columns)).view(), index, verify_integrity=False)

    def labels(self, frame: Any) -> list[Any] | None:
        plain = frame.index.equals(pd.RangeIndex(len(frame)))
        return None if plain else frame.index.tolist()


def _is_text(column: Any) -> bool:
    return isinstance(column, pd.arrays.ArrowStringArray)


def _gathered(parts: Sequence[Part]) -> Iterator[Any]:
    """Yield what is gathered from columns of texts, which are as long as one another."""
    if not parts:
        return
    arrays, places, start = [], [], 0
    for column, extra, index in parts:
        places.append(index + start)
        for array in (column, extra):
            if array is not None:
                held = whole(pa.array(array))
                arrays.append(held if held.type == pa.large_string() else held.cast(pa.large_string()))
                start += len(held)
    taken = pa.concat_arrays(arrays).take(pa.array(np.concatenate(places)))
    for place, (column, _, index) in enumerate(parts):
        yield type(column)(taken.slice(place * len(index), len(index)), dtype=column.dtype)


def _stored(column: Any) -> Any:
    """Return a column as the array that pandas keeps of it."""
    if isinstance(column, np.ndarray | pd.api.extensions.ExtensionArray):
        return column
    array = pd.Series(column).array
    return array.to_numpy() if isinstance(array, pd.arrays.NumpyExtensionArray) else array


def _kept(column: Any) -> Any:
    """Return a column of which pandas changes nothing: of plain objects it would make texts or numbers."""
    plain = isinstance(column, np.ndarray) and column.dtype == object
    return pd.Series(column, dtype=object) if plain else column


@lru_cache(maxsize=256)
def _index(names: tuple[str, ...]) -> pd.Index[Any]:
    return pd.Index(list(names))


def _name(native: Any) -> str:
    if isinstance(native, pd.CategoricalDtype):
        return f"category[{_name(native.categories.dtype)}]"
    return _plain_name(native)


@lru_cache(maxsize=1024)
def _plain_name(native: Any) -> str:
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
    values = np.asarray(column, dtype=object)
    missing = values[pd.isna(values)]
    return len(missing) > 0 and missing[0] is None


def _objects(values: pa.Array, dtype: Dtype) -> Any:
    """Return plain Python values, so that an object column holds no numpy scalars."""
    found = np.array(values.to_pylist(), dtype=object)
    if not dtype.none:
        found[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return found
