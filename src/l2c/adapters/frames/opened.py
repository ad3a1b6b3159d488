"""A frame whose columns are at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from l2c.adapters.frames.columns import unique_names
from l2c.adapters.frames.kinds import library_of
from l2c.adapters.frames.stored import FrameKind


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A frame with its library, its names and its native columns: each is found once, however often it is asked for.

    The columns are the frame's own. Who keeps them must not rely on them after its owner had a chance to write to it.
    """

    frame: Any
    kind: FrameKind
    names: list[Any]
    columns: list[Any]

    def named(self) -> dict[str, Any]:
        """Return the columns that have a name of their own, by it."""
        columns = dict(zip(self.names, self.columns, strict=True))
        own = columns if len(columns) == len(self.names) else set(unique_names(self.names))
        return {name: column for name, column in columns.items() if isinstance(name, str) and name in own}


def opened(frame: Any) -> Opened:
    """Return a frame opened; one that is stays as it is."""
    if isinstance(frame, Opened):
        return frame
    kind = library_of(frame)
    return Opened(frame, kind, kind.names(frame), kind.columns(frame))
