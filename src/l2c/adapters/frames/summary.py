"""Teaches `core.table.summarise` data frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from l2c.adapters.frames.columns import (
    arrays,
    encoded,
    family,
    is_missing,
    naming_problems,
    numbers,
    size_problems,
)
from l2c.adapters.frames.opened import opened
from l2c.core.table import Column, Summary, summarise
from l2c.errors import DataError


@summarise.register(object)
def summary_of(frame: Any) -> Summary:
    """Return the summary of a data frame, or raise with every problem in it.

    Declared categories are given in their order, used or not; other values sorted.

    >>> import pandas as pd
    >>> summary_of(pd.DataFrame({"job": ["nurse", "clerk", None]})).columns[0]
    Column(name='job', dtype='text', values=('clerk', 'nurse'), ordered=False, missing=True)
    """
    sheet = opened(frame)
    problems = [*naming_problems(sheet.names), *size_problems(frame)]
    found = arrays(sheet.named(), sheet.kind, problems)
    problems += [problem for name, array in found.items() for problem in _infinities(name, array)]
    if problems:
        raise DataError(problems)
    return Summary(tuple(_column(name, array) for name, array in found.items()), len(frame))


def _infinities(name: str, array: pa.Array) -> Iterator[str]:
    if family(array) == "float":
        values = numbers(array)
        for row in np.flatnonzero(np.isinf(values))[:1]:
            yield f"column {name!r}, row {row}: {values[row]} is not a finite number"


def _column(name: str, array: pa.Array) -> Column:
    declared = pa.types.is_dictionary(array.type)
    values = encoded(array).dictionary.to_pylist()
    known = [value for value in values if not is_missing(value)]
    return Column(
        name,
        "text" if declared else family(array) or "text",
        tuple(known if declared else sorted(known)),
        ordered=declared and array.type.ordered,
        missing=array.null_count > 0 or len(known) < len(values),
    )
