"""From cells to native columns of a given type, or the reason why the type cannot hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float64, Int32, Int64

from l2c.adapters.frames.stored import Dtype, FrameKind, Numbers, is_text
from l2c.core.compiled import Compiled, compiles
from l2c.core.feature import Feature
from l2c.core.schema import Schema
from l2c.core.types import Cells, Label
from l2c.errors import DataError

_Placed = tuple[str, Dtype, int]
"""A column's name and type, and the place of its feature in the schema."""

EXACT = 2.0**53
"""Up to here every whole number is a float of its own."""

NEAR = 256
"""Rows that stay in the processor's nearer memory while their features are gone through."""


def make(kind: FrameKind, dtype: Dtype, feature: Feature, cells: Numbers) -> Any:
    """Return the native column that holds a feature's cells, NaN as missing.

    Raises
    ------
    DataError
        If the type cannot hold a value: a category it lacks, a fraction in an integer column, and so on.

    Examples
    --------
    >>> import numpy as np
    >>> from l2c.adapters.frames.kinds import KINDS
    >>> job = Feature(name="job", kind="categorical", levels=("clerk", "nurse"))
    >>> make(KINDS["pandas"], Dtype("category[object]", ("nurse", "clerk")), job, np.array([1.0])).tolist()
    ['nurse']
    """
    if (array := _array(kind, dtype, feature, cells)) is not None:
        return array
    levels = level_column(kind, dtype, feature, cells)
    if levels is None:
        return _made(kind, dtype, feature, cells)
    return kind.gather(levels, None, np.where(np.isnan(cells), len(feature.levels), cells).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Making:
    """How cells become native columns, as far as it does not hang on the cells.

    Parameters
    ----------
    kind, schema
        The library of the columns, and the features that they are of.
    plain
        The numbers that are kept as plain arrays, those of a type together.
    one_by_one
        The columns that are made each by itself: their names, types and places in the schema.
    levelled
        The columns that are gathered from all levels of their features, together with these in `levels`.
    lacking
        Those of them that have no place for a missing value.
    """

    kind: FrameKind
    schema: Schema
    plain: tuple[tuple[np.dtype[Any], tuple[_Placed, ...]], ...]
    one_by_one: tuple[_Placed, ...]
    levelled: tuple[_Placed, ...]
    levels: Any
    lacking: tuple[_Placed, ...]

    @cached_property
    def features(self) -> Int64[np.ndarray, " levelled"]:
        """The places of the features whose columns are gathered from their levels."""
        return np.array([place for _, _, place in self.levelled], dtype=np.int64)

    @classmethod
    def of(cls, kind: FrameKind, columns: Sequence[tuple[str, Dtype]], schema: Schema) -> Making:
        """Return how columns of these names and types are made."""
        placed = [(name, dtype, schema.index(name)) for name, dtype in columns]
        known = {one: _every_level(kind, one[1], schema.features[one[2]]) for one in placed}
        levels = {one: column for one, column in known.items() if column is not None}
        lacking = (one for one, column in levels.items() if len(column) == schema.level_counts[one[2]])
        types = {one: _array_type(kind, one[1], schema.features[one[2]]) for one in placed if one not in levels}
        plain = {target: tuple(one for one in types if types[one] == target) for target in types.values() if target}
        rest = (one for one, target in types.items() if target is None)
        joined = kind.joined(list(levels.values()))
        return cls(kind, schema, tuple(plain.items()), tuple(rest), tuple(levels), joined, tuple(lacking))

    def columns(self, cells: Cells) -> dict[str, Any]:
        """Return the columns that hold cells, by name; see `make`."""
        schema = self.schema
        found: dict[str, Any] = {}
        alone = [one for one in self.lacking if np.isnan(cells[:, one[2]]).any()]
        for target, numbers in self.plain:
            held = _held(cells.T[[place for _, _, place in numbers]], target)
            if held is None:
                alone.extend(numbers)
            else:
                found |= {name: line for (name, _, _), line in zip(numbers, held, strict=True)}
        for name, dtype, place in (*alone, *self.one_by_one):
            found[name] = make(self.kind, dtype, schema.features[place], cells[:, place])
        if self.levelled:
            gathered = self.kind.gather_joined(self.levels, level_places(schema, cells, self.features))
            found |= {name: column for (name, _, _), column in zip(self.levelled, gathered, strict=True)}
        return found


def are_exact(cells: Cells) -> bool:
    """Return whether none is missing, or a whole number so large that it may not be what its cell says."""
    return not cells.size or bool(cells.min() >= -EXACT and cells.max() <= EXACT)


def level_places(schema: Schema, cells: Cells, features: Int64[np.ndarray, " some"]) -> Int32[np.ndarray, "some rows"]:
    """Return where each cell of some features is found in the column of all levels of its feature; of a number, behind.

    They are 32-bit numbers: of many rows, to get the memory for wider ones takes longer than all else.
    """
    numeric, counts = schema.numeric[features], schema.level_counts[features]
    if compiles():
        return _placed(cells, features, numeric, counts)
    told = cells[:, features]
    return np.ascontiguousarray(np.where(numeric | np.isnan(told), counts, told).astype(np.int32).T)


@Compiled
def _placed(
    cells: Cells,
    features: Int64[np.ndarray, " some"],
    numeric: Bool[np.ndarray, " some"],
    counts: Int64[np.ndarray, " some"],
) -> Int32[np.ndarray, "some rows"]:
    places = np.empty((len(features), len(cells)), np.int32)
    # A few rows at a time, so that their cells are fetched once and not for each feature.
    for begin in range(0, len(cells), NEAR):
        for n in range(len(features)):
            for row in range(begin, min(begin + NEAR, len(cells))):
                value = cells[row, features[n]]
                places[n, row] = counts[n] if numeric[n] or np.isnan(value) else np.int64(value)
    return places


def level_column(kind: FrameKind, dtype: Dtype, feature: Feature, cells: Numbers) -> Any:
    """Return the native column of all levels of a feature, and of a missing value behind them if the type has one.

    None of a number, and where the type cannot hold one of the levels, or a missing value that the cells have.
    """
    levels = _every_level(kind, dtype, feature)
    short = levels is not None and len(levels) == len(feature.levels)
    return None if short and np.isnan(cells).any() else levels


def _every_level(kind: FrameKind, dtype: Dtype, feature: Feature) -> Any:
    if feature.numeric:
        return None
    library: Any = kind
    return _level_column(library, dtype, feature.levels, tuple(map(type, feature.levels)))


@lru_cache(maxsize=4096)
def _level_column(
    kind: Any,
    dtype: Dtype,
    levels: tuple[Label, ...],
    types: tuple[type, ...],  # noqa: ARG001  # without them, 1, 1.0 and True would be the same key
) -> Any:
    every = np.arange(len(levels) + kind.holds_missing(dtype), dtype=np.float64)
    every[len(levels) :] = np.nan
    try:
        return _made(kind, dtype, Feature(name="", kind="categorical", levels=levels), every)
    except DataError:
        return None


def _array(kind: FrameKind, dtype: Dtype, feature: Feature, cells: Numbers) -> np.ndarray | None:
    """Return numbers as a plain array, or None where that is not what the column is, or they do not fit in."""
    target = _array_type(kind, dtype, feature)
    return None if target is None else _held(cells, target)


def _array_type(kind: FrameKind, dtype: Dtype, feature: Feature) -> np.dtype[Any] | None:
    """Return the type of a plain array that holds whatever it can of a number; None of any other column."""
    target = kind.array_type(dtype) if feature.numeric else None
    return None if target is None or (target.kind == "f" and target.itemsize < 8) else target


def _held(cells: Float64[np.ndarray, "*any"], target: np.dtype[Any]) -> np.ndarray | None:
    """Return numbers as an array of a type, or None where they do not fit in."""
    if target.kind == "f":
        return cells.astype(target)
    with np.errstate(invalid="ignore"):
        held = cells.astype(target)
    return held if (held == cells).all() and np.abs(cells).max(initial=0.0) <= EXACT else None


def _made(kind: FrameKind, dtype: Dtype, feature: Feature, cells: Numbers) -> Any:
    """Return the native column by way of Arrow, which tells what does not fit in."""
    target = kind.value_type(dtype)
    values = _numbers(feature, dtype, cells, target) if feature.numeric else _levels(feature, dtype, cells, target)
    if values.null_count and not kind.holds_missing(dtype):
        raise DataError(f"{_stored(feature, dtype)} a missing value; convert the column to a nullable type")
    return kind.column(values if dtype.categories is None else among_categories(feature.name, dtype, values), dtype)


def _numbers(feature: Feature, dtype: Dtype, cells: Numbers, target: pa.DataType | None) -> pa.Array:
    natural = pa.int64() if feature.integer else pa.float64()
    return _hold(pa.array(cells, from_pandas=True), target or natural, feature, dtype)


def _levels(feature: Feature, dtype: Dtype, cells: Numbers, target: pa.DataType | None) -> pa.Array:
    """Return each cell's level; a level that no cell has need not fit the type."""
    codes = pa.array(cells, from_pandas=True).cast(pa.int32())
    used = set(codes.unique().to_pylist())
    levels = pa.array([level if code in used else None for code, level in enumerate(feature.levels)])
    return _hold(levels, target or levels.type, feature, dtype).take(codes)


def _hold(values: pa.Array, target: pa.DataType, feature: Feature, dtype: Dtype) -> pa.Array:
    held = _cast(values, target)
    if held is None:
        singles = (values.slice(place, 1) for place in range(len(values)))
        first = next(single for single in singles if _cast(single, target) is None)
        raise DataError(_cannot_hold(feature, dtype, first[0].as_py(), target))
    return held


def _cast(values: pa.Array, target: pa.DataType) -> pa.Array | None:
    """Return the values in another type, or None if it cannot hold one of them; floats may round."""
    if values.null_count == len(values):
        return pa.nulls(len(values), target)
    if is_text(values.type) or is_text(target):
        return values.cast(target) if is_text(values.type) and is_text(target) else None
    try:
        # Arrow casts integers to wide decimals only; every number goes through float64, which cells are.
        held = (values.cast(pa.float64()) if pa.types.is_decimal(target) else values).cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    same = pa.types.is_floating(target) or held.cast(pa.float64(), safe=False).equals(
        values.cast(pa.float64(), safe=False)
    )
    return held if same else None


def among_categories(name: str, dtype: Dtype, values: pa.Array) -> pa.DictionaryArray:
    """Return the values of a column as indices into the declared categories."""
    categories = pa.array(list(dtype.categories or ()), type=values.type)
    places = pc.index_in(values, value_set=categories)
    if places.null_count > values.null_count:
        unknown = pc.filter(values, pc.and_(places.is_null(), values.is_valid()))[0].as_py()
        raise DataError(f"column {name!r} has no category {unknown!r}; add it to the column's categories")
    return pa.DictionaryArray.from_arrays(places, categories)


def _cannot_hold(feature: Feature, dtype: Dtype, value: Label, target: pa.DataType) -> str:
    fraction = isinstance(value, float) and not value.is_integer()
    remedy = (
        "declare it integer = true, or convert the column to float"
        if fraction and feature.numeric and pa.types.is_integer(target)
        else "convert the column to a type that can"
    )
    return f"{_stored(feature, dtype)} {value!r}; {remedy}"


def _stored(feature: Feature, dtype: Dtype) -> str:
    return f"column {feature.name!r} is stored as {dtype.name} and cannot hold"
