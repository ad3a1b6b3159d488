"""pandas data frames: numpy, nullable, Arrow-backed, categorical and object columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Int32, Int64

from l2c.adapters.frames.columns import unique_names
from l2c.adapters.frames.stored import (
    Dtype,
    Numbers,
    Part,
    Positions,
    arrow_column,
    arrow_dtype,
    arrow_type,
    lacking_levels,
    plain_type,
    whole,
    with_levels,
)
from l2c.core.feature import Feature
from l2c.core.schema import Schema

FROM_BLOCKS: Any = getattr(getattr(pd.api, "internals", None), "create_dataframe_from_blocks", None)
"""From columns as pandas keeps them to a frame; before pandas 3 there is none."""

STORED = (pd.api.extensions.ExtensionArray, np.ndarray)
"""What pandas keeps a column as."""

FEW = 4096
"""Rows up to which all columns of texts are gathered at once."""

Types = tuple[str | type, ...]
"""For each column, the name of a plain array's type, or the class of any other array."""


@dataclass(frozen=True, slots=True)
class PandasKind:
    """pandas data frames as a `FrameKind`."""

    name: str = "pandas"

    def names(self, frame: Any) -> list[Any]:
        return _listed(frame.columns)

    def columns(self, frame: Any) -> list[Any]:
        walk = getattr(frame, "_iter_column_arrays", None)
        # Arrays alone: a Series for every column would cost more than what is done with it.
        return list(walk()) if walk else [frame.iloc[:, place].values for place in range(frame.shape[1])]

    def arrow(self, column: Any) -> pa.Array:
        return whole(pa.array(column, from_pandas=True))

    def dtype_of(self, column: Any) -> Dtype:
        native = column.dtype
        if isinstance(native, pd.CategoricalDtype):
            return Dtype(_name(native), tuple(_listed(native.categories)), bool(native.ordered))
        if isinstance(native, pd.ArrowDtype):
            stored = arrow_dtype(self.arrow(column))
            return Dtype(_name(native), stored.categories, stored.ordered)
        if isinstance(native, pd.StringDtype):
            return _TEXTS[native.storage, native.na_value is pd.NA]
        if isinstance(native, np.dtype) and native.kind == "O":
            return Dtype("object", none=_says_none(column))
        return _plain_dtype(native)

    def numbers(self, column: Any) -> Numbers | None:
        return column.astype(np.float64) if isinstance(column, np.ndarray) and _is_number(column.dtype) else None

    def texts(self, column: Any) -> list[str | None] | None:
        if _has_text_categories(column):
            categories = [*_listed(column.categories), None]  # what is missing has the code −1
            return [categories[code] for code in column.codes.tolist()]
        return column.__arrow_array__().to_pylist() if _is_text(column) else None

    def is_told_by_cells(self, dtype: Dtype, *, numeric: bool) -> bool:
        native = _native(dtype)
        if numeric:
            return isinstance(native, np.dtype) and _is_number(native)
        held = native.categories.dtype if isinstance(native, pd.CategoricalDtype) else native
        return isinstance(held, pd.StringDtype) and held.storage == "pyarrow"

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
        if extra is not None and not _are_alike(extra, column):
            extra = extra.astype(column.dtype)
        if isinstance(column, np.ndarray):
            return (column if extra is None else np.concatenate([column, extra]))[index]
        if isinstance(column, pd.Categorical) and extra is None:
            return column.take(index)
        if isinstance(column, pd.Categorical):
            codes = np.concatenate([column.codes, extra.codes])
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

    def joined(self, columns: Sequence[Any]) -> _Joined:
        texts = [place for place, column in enumerate(columns) if _is_text(column)]
        arrays = [_large(columns[place]) for place in texts]
        starts = np.cumsum([0, *map(len, arrays)], dtype=np.int64)[:-1]
        return _Joined(tuple(columns), texts, pa.concat_arrays(arrays) if arrays else None, starts[:, None])

    def gather_joined(self, joined: _Joined, index: Int32[np.ndarray, "columns rows"]) -> list[Any]:
        columns, rows = joined.columns, index.shape[1]
        if not joined.texts or rows > FEW:
            return [self.gather(column, None, places) for column, places in zip(columns, index, strict=True)]
        taken = pa.chunked_array([joined.array.take(pa.array((index[joined.texts] + joined.starts).ravel()))])
        found: list[Any] = [_Texts(columns[place], taken.slice(n * rows, rows)) for n, place in enumerate(joined.texts)]
        if len(found) == len(columns):
            return found
        texts = dict(zip(joined.texts, found, strict=True))
        return [
            texts[place] if place in texts else self.gather(column, None, index[place])
            for place, column in enumerate(columns)
        ]

    def behind(self, column: Any, first: int) -> Any:
        if isinstance(column, np.ndarray):
            return column[first:]  # a frame takes a copy of it
        if isinstance(column, _Texts):
            return _Texts(column.like, column.held.slice(first)) if first else column
        return column[first:].copy()

    def coded(self, values: tuple[Any, ...], index: Positions) -> Any:
        # What pandas makes of values of several types, or of none, depends on which of them are there.
        if not len(index) or set(map(type, values)) != {str}:
            return [values[place] for place in index.tolist()]
        every = _texts(values)
        if every.texts and len(index) <= FEW and (index == index[0]).all():  # before pandas 3, texts are any objects
            return _Texts(every.columns[0], _repeated(values[index[0]], len(index)))
        return self.gather_joined(every, index[None, :])[0]

    def frame(self, columns: Mapping[str, Any]) -> Any:
        arrays = [_stored(column) for column in columns.values()]
        types = tuple(array.dtype.str if isinstance(array, np.ndarray) else type(array) for array in arrays)
        blocks = _blocks(types) if arrays and FROM_BLOCKS is not None else None
        if blocks is None:
            return pd.DataFrame(dict(zip(columns, map(_kept, arrays), strict=True)), copy=False)
        # What is stored already need not be looked at again, column by column.
        held = [_held(arrays, places) for places in blocks]
        index, names = _positions(len(arrays[0])).view(), _index(tuple(columns)).view()
        if (mould := MOULDS.get(types)) is not None:
            return mould.cast(held, index, names)
        frame = FROM_BLOCKS(list(zip(held, map(np.array, blocks), strict=True)), index, names)
        if types not in MOULDS:
            MOULDS[types] = _Mould.of(frame, held)
        return frame

    @property
    def labels_rows(self) -> bool:
        return True

    def with_levels(self, frame: Any, schema: Schema) -> Any:
        own = unique_names(self.names(frame))
        held = {name: frame[name].array for name in own if name in schema}
        more = {name: _with_levels(column, schema[name]) for name, column in held.items()}
        changed = {name: column for name, column in more.items() if column is not held[name]}
        return frame.assign(**changed) if changed else frame

    def labels(self, frame: Any) -> list[Any] | None:
        plain = frame.index.equals(pd.RangeIndex(len(frame)))
        return None if plain else frame.index.tolist()


def _with_levels(column: Any, feature: Feature) -> Any:
    """Return a column with all levels among its categories; of other types, the column itself."""
    if isinstance(column, pd.Categorical):
        levels = lacking_levels(PandasKind().dtype_of(column), feature)
        return column.add_categories(levels) if levels else column
    native = column.dtype
    if isinstance(native, pd.ArrowDtype) and pa.types.is_dictionary(native.pyarrow_dtype):
        held = with_levels(whole(pa.array(column)), feature)
        maker: Any = pd.ArrowDtype(held.type)
        return maker.__from_arrow__(held)
    return column


def _is_text(column: Any) -> bool:
    return isinstance(column, pd.arrays.ArrowStringArray)


def _has_text_categories(column: Any) -> bool:
    return isinstance(column, pd.Categorical) and _is_text(column.categories.array)


def _are_alike(one: Any, other: Any) -> bool:
    """Return whether two columns are of the same type."""
    if _has_text_categories(one) and _has_text_categories(other):  # to compare the types takes pandas three times that
        same = one.ordered == other.ordered and one.categories.dtype == other.categories.dtype
        return same and _listed(one.categories) == _listed(other.categories)
    return bool(one.dtype == other.dtype)


def _listed(labels: Any) -> list[Any]:
    """Return the labels of an index; texts by way of Arrow, where a step costs less."""
    texts = None if isinstance(labels, pd.MultiIndex) or not _is_text(labels.array) else labels.array.__arrow_array__()
    return list(labels.tolist()) if texts is None or texts.null_count else texts.to_pylist()


def _gathered(parts: Sequence[Part]) -> Iterator[Any]:
    """Yield what is gathered from columns of texts, which are as long as one another."""
    if not parts:
        return
    arrays, places, start = [], [], 0
    for column, extra, index in parts:
        places.append(index + start)
        for array in (column, extra):
            if array is not None:
                arrays.append(_large(array))
                start += len(arrays[-1])
    taken = pa.concat_arrays(arrays).take(pa.array(np.concatenate(places)))
    for place, (column, _, index) in enumerate(parts):
        yield _alike(column, taken.slice(place * len(index), len(index)))


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    """Columns of which the texts stand one after the other in one array.

    Parameters
    ----------
    columns
        All of them.
    texts, starts
        Which of them are texts, and where each of these begins.
    array
        The texts; None where there are none.
    """

    columns: tuple[Any, ...]
    texts: list[int]
    array: Any
    starts: Int64[np.ndarray, "texts 1"]


@dataclass(slots=True, eq=False)
class _Texts:
    """Texts for a column like another one. They are Arrow's, and nobody can write to them: frames may share them."""

    like: Any
    held: pa.ChunkedArray


def _large(column: Any) -> pa.Array:
    """Return a column of texts as the Arrow array that pandas keeps of such."""
    held = whole(pa.array(column))
    return held if held.type == pa.large_string() else held.cast(pa.large_string())


def _alike(column: Any, texts: pa.Array | pa.ChunkedArray) -> Any:
    """Return a column of other texts of the same type."""
    made = getattr(column, "_from_pyarrow_array", None)
    # What Arrow has just made of such a column need not be looked at again.
    return column.dtype.__from_arrow__(texts) if made is None else made(texts)


def _stored(column: Any) -> Any:
    """Return a column as the array that pandas keeps of it."""
    if isinstance(column, _Texts):
        return _alike(column.like, column.held)
    if isinstance(column, STORED):
        return column
    if isinstance(column, list) and set(map(type, column)) == {int} and (held := np.array(column)).dtype == np.int64:
        return held
    array = pd.Series(column).array
    return array.to_numpy() if isinstance(array, pd.arrays.NumpyExtensionArray) else array


@lru_cache(maxsize=256)
def _blocks(types: Types) -> tuple[tuple[int, ...], ...] | None:
    """Return which columns pandas keeps together in a block: plain arrays of a type.

    None where pandas may keep one of them otherwise.
    """
    alike: dict[str, list[int]] = {}
    for place, name in enumerate(types):
        if isinstance(name, str):
            alike.setdefault(name, []).append(place)
    if any(np.dtype(name).kind not in "biufO" for name in alike):
        return None
    single = ((place,) for place, kind in enumerate(types) if isinstance(kind, type))
    return (*single, *map(tuple, alike.values()))


def _held(arrays: Sequence[Any], places: tuple[int, ...]) -> Any:
    """Return the columns of a block as pandas keeps them; plain arrays are copied."""
    first = arrays[places[0]]
    if not isinstance(first, np.ndarray):
        return first
    return np.concatenate([arrays[place] for place in places]).reshape(len(places), -1)


@dataclass(frozen=True, slots=True, eq=False)
class _Mould:
    """How pandas keeps columns of some types, as was seen in a frame: with it others like that one cost a third."""

    manager: Any
    blocks: tuple[tuple[Any, Any], ...]

    @classmethod
    def of(cls, frame: Any, held: Sequence[Any]) -> _Mould | None:
        """Return the mould of a frame that was made of these values, if pandas keeps them as they are.

        None where it does not, or where it is no longer the pandas that is known here.
        """
        try:
            manager = frame._mgr
            as_they_are = all(one.shape == block.values.shape for one, block in zip(held, manager.blocks, strict=True))
            mould = cls(type(manager), tuple((type(block), block.mgr_locs) for block in manager.blocks))
            again = mould.cast([one.copy() for one in held], frame.index, frame.columns)
            same = again.equals(frame) and again.dtypes.equals(frame.dtypes)
            return mould if as_they_are and same else None
        except (AttributeError, TypeError):
            return None

    def cast(self, held: Sequence[Any], index: Any, names: Any) -> Any:
        """Return the frame of the same blocks with other values in them."""
        blocks = tuple(
            block(values, placement=places, ndim=2) for (block, places), values in zip(self.blocks, held, strict=True)
        )
        maker: Any = pd.DataFrame
        return maker._from_mgr(self.manager(blocks, [names, index], verify_integrity=False), [names, index])


MOULDS: dict[Types, _Mould | None] = {}
"""The moulds of the frames that were made, by the types of their columns."""


def _kept(column: Any) -> Any:
    """Return a column of which pandas changes nothing, a copy of a plain array; of objects it would make texts."""
    if not isinstance(column, np.ndarray):
        return column
    return pd.Series(column, dtype=object, copy=True) if column.dtype == object else column.copy()


@lru_cache(maxsize=256)
def _index(names: tuple[str, ...]) -> pd.Index[Any]:
    return pd.Index(list(names))


@lru_cache(maxsize=64)
def _repeated(text: str, times: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.repeat(pa.scalar(text, pa.large_string()), times)])


@lru_cache(maxsize=256)
def _positions(rows: int) -> pd.RangeIndex:
    return pd.RangeIndex(rows)


@lru_cache(maxsize=256)
def _texts(values: tuple[str, ...]) -> _Joined:
    return PandasKind().joined([_stored(list(values))])


def _is_number(native: np.dtype[Any]) -> bool:
    return native.isnative and (native.kind in "iu" or native == np.float64)


_TEXTS = {
    ("pyarrow", False): Dtype("str"),
    ("python", False): Dtype("str[python]"),
    ("pyarrow", True): Dtype("string[pyarrow]"),
    ("python", True): Dtype("string[python]"),
}
"""Types of texts, by how they are stored and whether a missing one is NA."""


@lru_cache(maxsize=1024)
def _plain_dtype(native: Any) -> Dtype:
    return Dtype(_name(native))


def _name(native: Any) -> str:
    if isinstance(native, pd.CategoricalDtype):
        return f"category[{_name(native.categories.dtype)}]"
    if isinstance(native, pd.ArrowDtype):
        return f"ArrowDtype({native.pyarrow_dtype})"
    return _TEXTS[native.storage, native.na_value is pd.NA].name if isinstance(native, pd.StringDtype) else str(native)


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
    for (storage, is_na), known in _TEXTS.items():  # before pandas 3, some of their names mean other types
        if dtype.name == known.name:
            return pd.StringDtype(storage, na_value=pd.NA if is_na else np.nan)
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
