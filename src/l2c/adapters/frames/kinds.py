"""Which library a frame belongs to."""

from __future__ import annotations

from narwhals.dependencies import is_pandas_dataframe, is_polars_dataframe, is_pyarrow_table

from l2c.adapters.frames.arrow_kind import ArrowKind
from l2c.adapters.frames.pandas_kind import PandasKind
from l2c.adapters.frames.polars_kind import PolarsKind
from l2c.adapters.frames.stored import FrameKind
from l2c.errors import DataError

KINDS: dict[str, FrameKind] = {"pandas": PandasKind(), "polars": PolarsKind(), "arrow": ArrowKind()}

_LIBRARIES = {
    "pandas": is_pandas_dataframe,
    "polars": is_polars_dataframe,
    "arrow": is_pyarrow_table,
}


def library_of(frame: object) -> FrameKind:
    """Return the library that a frame belongs to, or raise if it is none that L2C knows."""
    found = next((name for name, belongs in _LIBRARIES.items() if belongs(frame)), None)
    if found is None:
        raise DataError(f"expected a data frame (pandas, polars or Arrow), got {type(frame).__name__}")
    return KINDS[found]


def kind_of(frame: object) -> str:
    """Return the kind of a frame: pandas, polars or arrow.

    >>> import pandas as pd
    >>> kind_of(pd.DataFrame({"age": [30]}))
    'pandas'
    """
    return library_of(frame).name
