"""The columns of a frame as Arrow arrays of numbers, texts or booleans, or every reason why they are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from l2c.adapters.frames.stored import FrameKind, Numbers, is_text, plain_type
from l2c.errors import DataError

Family = Literal["boolean", "integer", "float", "text"]


def naming_problems(names: Sequence[Any]) -> Iterator[str]:
    """Yield what is wrong with the column names, whatever a schema says."""
    if len(set(names)) == len(names) and all(isinstance(name, str) for name in names):
        return
    for name in dict.fromkeys(names):
        if not isinstance(name, str):
            yield f"column names must be texts, not {name!r}; rename the column"
        elif names.count(name) > 1:
            yield f"column {name!r} appears {names.count(name)} times; rename or drop the others"


def size_problems(frame: Any) -> list[str]:
    return [] if len(frame) else ["the frame has no rows; give at least one"]


def unique_names(names: Sequence[Any]) -> list[str]:
    """Return the names that are texts and stand for one column only."""
    counts = Counter(names)
    return [name for name in names if isinstance(name, str) and counts[name] == 1]


def arrays(columns: Mapping[str, Any], kind: FrameKind, problems: list[str]) -> dict[str, pa.Array]:
    """Return native columns as Arrow arrays; one that cannot be used is left out and told in `problems`."""
    found = {}
    for name, column in columns.items():
        try:
            found[name] = _array(column, kind, name)
        except DataError as error:
            problems += error.problems
    return found


def _array(column: Any, kind: FrameKind, name: str) -> pa.Array:
    try:
        array = kind.arrow(column)
    except (pa.ArrowException, OverflowError):
        what = f"values of mixed or unknown types ({kind.dtype_of(column).name})"
    else:
        if family(array) is not None:
            return _without_decimals(array)
        what = f"{plain_type(array.type)} values"
    raise DataError(f"column {name!r} holds {what}; convert it to a number or text")


def _without_decimals(array: pa.Array) -> pa.Array:
    """Return decimals as floats: a schema's levels are plain numbers, and 0.1 is not Decimal("0.1")."""
    return decoded(array).cast(pa.float64()) if pa.types.is_decimal(plain_type(array.type)) else array


def family(array: pa.Array) -> Family | None:
    """Return what the values are, None if neither numbers nor texts; a column without values passes as float.

    >>> family(pa.array(["clerk", "nurse"]).dictionary_encode())
    'text'
    """
    return _family(array.type)


@lru_cache(maxsize=1024)
def _family(stored: pa.DataType) -> Family | None:
    kind = plain_type(stored)
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return "float"
    return "text" if is_text(kind) else None


def exactly(values: pa.Array, target: pa.DataType) -> pa.Array | None:
    """Return values in another type of their sort; None if it cannot hold all of them just as they are.

    >>> exactly(pa.array([30.0, None]), pa.int64()).to_pylist(), exactly(pa.array([0.1]), pa.float32())
    ([30, None], None)
    """
    if values.null_count == len(values):
        return pa.nulls(len(values), target)
    if not are_of_a_sort(values.type, target):
        return None
    decimal = pa.types.is_decimal(target)
    try:
        # Arrow casts integers to wide decimals only.
        held = (values.cast(pa.float64()) if decimal and pa.types.is_integer(values.type) else values).cast(target)
        if decimal or pa.types.is_decimal(values.type):
            return held if held.to_pylist() == values.to_pylist() else None
        return held if held.cast(values.type).equals(values) else None
    except pa.ArrowException:
        return None


def are_of_a_sort(one: pa.DataType, other: pa.DataType) -> bool:
    """Return whether values of two types can be the same: numbers, texts, truths, or times of one kind and zone.

    >>> are_of_a_sort(pa.int8(), pa.float64()), are_of_a_sort(pa.int64(), pa.timestamp("us"))
    (True, False)
    """
    if pa.types.is_null(one) or pa.types.is_null(other):
        return False
    sorts = {"integer": "number", "float": "number"}
    families = [sorts.get(str(kind), kind) for kind in (_family(one), _family(other))]
    if families != [None, None]:
        return families[0] == families[1]
    return bool(one.id == other.id and getattr(one, "tz", None) == getattr(other, "tz", None))


def decoded(array: pa.Array) -> pa.Array:
    """Return an array as its values."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def encoded(array: pa.Array) -> pa.DictionaryArray:
    """Return an array as indices into its distinct values."""
    return array if pa.types.is_dictionary(array.type) else array.dictionary_encode()


def numbers(array: pa.Array) -> Numbers:
    """Return numbers as float64, NaN where missing; whole numbers beyond 2^53 round.

    >>> numbers(pa.array([1, None]))
    array([ 1., nan])
    """
    return np.asarray(decoded(array).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def is_missing(value: object) -> bool:
    """Return whether a value is None or NaN, which alone differs from itself."""
    return value is None or value != value
