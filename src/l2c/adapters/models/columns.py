"""The columns that a model was trained on, found among those of a frame."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa

from l2c.adapters.frames import FrameShape, kind_of
from l2c.adapters.frames.kinds import KINDS
from l2c.adapters.frames.storing import to_arrow
from l2c.core.types import Label
from l2c.errors import InputError, nearest


def as_pandas(frame: Any) -> pd.DataFrame:
    """Return a frame of any kind as a pandas frame, declared categories included.

    Booleans are of a type that can be missing: as plain objects, no booster takes them.
    """
    if kind_of(frame) == "pandas":
        return frame
    return to_arrow(frame).to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)


def column_named(name: str, columns: Iterable[str]) -> str | None:
    """Return the column that a model knows by this name, or None.

    LightGBM and ONNX converters write underscores for blanks and signs.

    >>> column_named("credit_amount", ["age", "credit amount"])
    'credit amount'
    """
    columns = list(columns)
    if name in columns:
        return name
    alike = [column for column in columns if _identifier(column) == _identifier(name)]
    return alike[0] if len(alike) == 1 else None


def columns_of(names: Sequence[str], shape: FrameShape, model: str) -> list[str]:
    """Return the columns that a model was trained on, in its order, or raise naming those that are not there."""
    there = [name for name, _ in shape.columns]
    found = {name: column_named(name, there) for name in names}
    absent = [name for name, column in found.items() if column is None]
    if absent:
        unused = [name for name in there if name not in found.values()]
        raise InputError(
            f"{model} was trained on a column {name!r} that the schema does not have{nearest(name, unused)}"
            for name in absent
        )
    return [column for column in found.values() if column is not None]


def all_columns(count: int, shape: FrameShape, model: str) -> list[str]:
    """Return the frame's columns in its order, for a model that knows no names, or raise if they are not as many."""
    there = [name for name, _ in shape.columns]
    if len(there) != count:
        raise InputError(f"{model} was trained on {count} columns without names, and the schema has {len(there)}")
    return there


def in_order(frame: Any, columns: list[str]) -> pd.DataFrame:
    """Return some columns of a frame of any kind as a pandas frame, in this order."""
    rows = as_pandas(frame)
    return rows if KINDS["pandas"].names(rows) == columns else rows[columns]


def by_category(shape: FrameShape, categories: Mapping[str, Sequence[Label]]) -> FrameShape:
    """Return pandas frames of a shape in which some columns are declared as categories; others as they are.

    A frame that is built so has the codes, and needs not look for them among its texts.
    """
    if shape.kind != "pandas":
        return shape
    coded = {name: KINDS["pandas"].dtype_of(pd.Categorical([], list(known))) for name, known in categories.items()}
    return replace(shape, columns=tuple((name, coded.get(name, dtype)) for name, dtype in shape.columns))


def is_text(dtype: Any) -> bool:
    """Return whether columns of a pandas type hold texts, and not categories declared beforehand."""
    return not isinstance(dtype, pd.CategoricalDtype) and bool(
        pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype)
    )


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII)
