"""What frame libraries have in common whose columns are no plain arrays: each column is worked on by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int32

from l2c.adapters.frames.stored import Dtype, Numbers, Part, Positions
from l2c.core.schema import Schema
from l2c.core.types import Label


class Columnwise(ABC):
    """What such libraries share of a `FrameKind`: they hold a missing value in any column, and label no row."""

    __slots__ = ()

    @abstractmethod
    def gather(self, column: Any, extra: Any, index: Positions) -> Any:
        """Return the values at some places of a column and of another one behind it."""

    def numbers(self, column: Any) -> Numbers | None:  # noqa: ARG002  # columns are no arrays
        return None

    def texts(self, column: Any) -> list[str | None] | None:  # noqa: ARG002  # Arrow is near enough
        return None

    def is_told_by_cells(self, dtype: Dtype, *, numeric: bool) -> bool:  # noqa: ARG002  # it may say more
        return False

    def holds_missing(self, dtype: Dtype) -> bool:  # noqa: ARG002  # every type does
        return True

    def array_type(self, dtype: Dtype) -> np.dtype[Any] | None:  # noqa: ARG002  # columns are no arrays
        return None

    def gather_all(self, parts: Sequence[Part]) -> list[Any]:
        return [self.gather(*part) for part in parts]

    def joined(self, columns: Sequence[Any]) -> Any:
        return columns

    def gather_joined(self, joined: Any, index: Int32[np.ndarray, "columns rows"]) -> list[Any]:
        return [self.gather(column, None, places) for column, places in zip(joined, index, strict=True)]

    def behind(self, column: Any, first: int) -> Any:
        return column[first:]

    def coded(self, values: tuple[Label, ...], index: Positions) -> Any:
        return [values[place] for place in index.tolist()]

    @property
    def labels_rows(self) -> bool:
        return False

    def with_levels(self, frame: Any, schema: Schema) -> Any:  # noqa: ARG002  # types declare no categories, or an order
        return frame

    def labels(self, frame: Any) -> list[Any] | None:  # noqa: ARG002  # rows have no labels
        return None


def owned(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns with copies of those that are plain arrays, which the library might not take itself."""
    return {name: column.copy() if isinstance(column, np.ndarray) else column for name, column in columns.items()}
