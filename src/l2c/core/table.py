"""What a schema needs to know of a column, whatever kind of frame it came from.

`summarise` is an open function: `adapters.frames` teaches it data frames, so that this layer knows none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Literal

from l2c.core.types import Label
from l2c.errors import DataError


@dataclass(frozen=True, slots=True)
class Column:
    """The summary of one column: its type and its distinct values, in order; missing ones apart."""

    name: str
    dtype: Literal["boolean", "integer", "float", "text"]
    values: tuple[Label, ...]
    ordered: bool = False
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """The columns of a table and its number of rows."""

    columns: tuple[Column, ...]
    rows: int


@singledispatch
def summarise(frame: object) -> Summary:
    """Return the summary of a frame.

    >>> summarise(3)
    Traceback (most recent call last):
    l2c.errors.DataError: expected a data frame (pandas, polars or Arrow), got int
    """
    raise DataError(f"expected a data frame (pandas, polars or Arrow), got {type(frame).__name__}")


@summarise.register
def _(frame: Summary) -> Summary:
    return frame
