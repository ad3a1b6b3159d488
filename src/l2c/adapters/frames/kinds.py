"""Which library a frame belongs to."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pyarrow as pa
from narwhals.dependencies import is_polars_dataframe

from l2c.adapters.frames.arrow_kind import ArrowKind
from l2c.adapters.frames.pandas_kind import PandasKind
from l2c.adapters.frames.polars_kind import PolarsKind
from l2c.adapters.frames.stored import FrameKind
from l2c.errors import DataError

KINDS: dict[str, FrameKind] = {"pandas": PandasKind(), "polars": PolarsKind(), "arrow": ArrowKind()}

_LIBRARIES: dict[str, Callable[[object], bool]] = {
    "pandas": lambda frame: isinstance(frame, pd.DataFrame),
    "arrow": lambda frame: isinstance(frame, pa.Table),
    "polars": is_polars_dataframe,
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
