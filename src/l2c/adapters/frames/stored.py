"""How a column is stored, in words that a file can keep, and what each kind of frame must be able to do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from jaxtyping import Float64, Int32, Int64

from l2c.core.feature import Feature
from l2c.core.schema import Schema
from l2c.core.types import Label

Positions = Int64[np.ndarray, " rows"] | Int32[np.ndarray, " rows"]
Numbers = Float64[np.ndarray, " rows"]

Part = tuple[Any, Any, Positions]
"""A native column, another one behind it or None, and the places of both to gather values from."""


@dataclass(frozen=True, slots=True)
class Dtype:
    """The type of a column, in its library's own words.

    Parameters
    ----------
    name
        The type's name, enough to find it again, such as `int64`, `Enum` or `category[str]`.
    categories, ordered
        The declared categories of a type that has them.
    none
        Whether an object column says None, and not NaN, for a missing value: models tell them apart.
    """

    name: str
    categories: tuple[Label, ...] | None = None
    ordered: bool = False
    none: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return the type as plain data, without what is at its default.

        >>> Dtype("Enum", ("low", "high"), ordered=True).to_dict()
        {'dtype': 'Enum', 'categories': ['low', 'high'], 'ordered': True}
        """
        data: dict[str, object] = {"dtype": self.name}
        if self.categories is not None:
            data |= {"categories": list(self.categories), "ordered": self.ordered}
        return data | ({"none": True} if self.none else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Dtype:
        """Return the type that `to_dict` wrote."""
        categories = data.get("categories")
        return cls(
            data["dtype"],
            None if categories is None else tuple(categories),
            data.get("ordered", False),
            data.get("none", False),
        )


class FrameKind(Protocol):
    """A data frame library; native columns and frames are its own objects."""

    @property
    def name(self) -> str: ...

    def names(self, frame: Any) -> list[Any]:
        """Return the column names as they are, repeated and odd ones too."""
        ...

    def columns(self, frame: Any) -> list[Any]:
        """Return the native columns, in the order of the names."""
        ...

    def arrow(self, column: Any) -> pa.Array:
        """Return a native column as Arrow; raises what Arrow raises for values it does not know."""
        ...

    def dtype_of(self, column: Any) -> Dtype: ...

    def numbers(self, column: Any) -> Numbers | None:
        """Return a column of numbers that is kept as a plain array as float64, NaN where missing; None of others."""
        ...

    def texts(self, column: Any) -> list[str | None] | None:
        """Return the values of a column whose type holds nothing but texts, None where missing; None of others."""
        ...

    def is_told_by_cells(self, dtype: Dtype, *, numeric: bool) -> bool:
        """Return whether cells, numbers up to 2^53 or texts, tell all of a column of this type."""
        ...

    def value_type(self, dtype: Dtype) -> pa.DataType | None:
        """Return the Arrow type of a column's values, or None if it holds any object."""
        ...

    def holds_missing(self, dtype: Dtype) -> bool: ...

    def array_type(self, dtype: Dtype) -> np.dtype[Any] | None:
        """Return the type of a column of numbers that is kept as a plain array, or None."""
        ...

    def column(self, values: pa.Array, dtype: Dtype) -> Any:
        """Return a native column of values that have `value_type`, or are encoded by the categories."""
        ...

    def gather(self, column: Any, extra: Any, index: Positions) -> Any:
        """Return the values at these places of `column` with `extra` behind it, if there is any."""
        ...

    def gather_all(self, parts: Sequence[Part]) -> list[Any]:
        """Return what `gather` returns for each of several columns."""
        ...

    def joined(self, columns: Sequence[Any]) -> Any:
        """Return columns in a form from which values of all of them are gathered at once."""
        ...

    def gather_joined(self, joined: Any, index: Int32[np.ndarray, "columns rows"]) -> list[Any]:
        """Return the values at some places of each column, for `frame`; there are as many of each."""
        ...

    def behind(self, column: Any, first: int) -> Any:
        """Return a column without its first rows, for a frame that shares nothing with it."""
        ...

    def coded(self, values: tuple[Label, ...], index: Positions) -> Any:
        """Return a column of some values, for `frame`, each of which stands there as often as its place does."""
        ...

    def frame(self, columns: Mapping[str, Any]) -> Any:
        """Return a frame of columns: native ones become its own, of plain arrays it takes copies."""
        ...

    @property
    def labels_rows(self) -> bool:
        """Whether rows may have labels."""
        ...

    def labels(self, frame: Any) -> list[Any] | None:
        """Return the row labels where there are any but the positions."""
        ...

    def with_levels(self, frame: Any, schema: Schema) -> Any:
        """Return a frame in which what declares its categories, without an order, has all levels among them.

        A piece of a longer table may declare those of its own rows alone.
        """
        ...


def lacking_levels(dtype: Dtype, feature: Feature) -> list[Label]:
    """Return the levels that are not among the categories of a type, if these are of the same sort, without an order.

    >>> job = Feature(name="job", kind="categorical", levels=("clerk", "nurse"))
    >>> lacking_levels(Dtype("category[str]", ("cook", "clerk")), job)
    ['nurse']
    """
    if dtype.categories is None or dtype.ordered:
        return []
    categories = [category for category in dtype.categories if category is not None]
    alike = len({_sort(value) for value in (*categories, *feature.levels)}) == 1
    return [level for level in feature.levels if level not in categories] if alike else []


def _sort(value: object) -> type:
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def with_levels(column: pa.DictionaryArray, feature: Feature) -> pa.DictionaryArray:
    """Return a column whose dictionary has all levels that it lacks and that are of its type, and nothing missing."""
    if column.dictionary.null_count:
        column = arrow_column(column.dictionary_decode().dictionary_encode(), column.type)
    levels = pa.array(lacking_levels(arrow_dtype(column), feature))
    try:
        more = levels.cast(column.dictionary.type)
    except pa.ArrowException:
        return column
    dictionary = pa.concat_arrays([column.dictionary, more])
    # An index type of few bits may be too small for all of them.
    kind = column.indices.type if len(dictionary) <= 2 ** (column.indices.type.bit_width - 1) else pa.int32()
    return pa.DictionaryArray.from_arrays(column.indices.cast(kind), dictionary, ordered=column.type.ordered)


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return an Arrow column in one piece, with one dictionary."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def arrow_dtype(column: pa.Array) -> Dtype:
    """Return how an Arrow column is stored.

    >>> arrow_dtype(pa.array(["b", "a"]).dictionary_encode()).categories
    ('b', 'a')
    """
    if not pa.types.is_dictionary(column.type):
        return Dtype(str(column.type))
    return Dtype(str(column.type), tuple(column.dictionary.to_pylist()), column.type.ordered)


def arrow_type(name: str) -> pa.DataType:
    """Return the Arrow type with this name.

    >>> arrow_type("dictionary<values=decimal128(5, 2), indices=int8, ordered=1>").value_type
    Decimal128Type(decimal128(5, 2))
    """
    if found := re.fullmatch(r"dictionary<values=(.+), indices=(\w+), ordered=([01])>", name):
        values, indices, ordered = found.groups()
        return pa.dictionary(arrow_type(indices), arrow_type(values), ordered == "1")
    if found := re.fullmatch(r"(decimal\d+)\((\d+), (-?\d+)\)", name):
        decimal, precision, scale = found.groups()
        return getattr(pa, decimal)(int(precision), int(scale))
    return pa.type_for_alias(name)


def arrow_column(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values with the index type and order flag that a dictionary type declares; others as they are."""
    if not pa.types.is_dictionary(kind):
        return values
    return pa.DictionaryArray.from_arrays(values.indices.cast(kind.index_type), values.dictionary, ordered=kind.ordered)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values behind a dictionary, or the type itself."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
