"""The one seam to data frames: pandas, polars and Arrow in, the same kind out.

`kinds` knows the libraries; `opened`, `columns`, `summary` and `reading` go from a frame to cells; `making`, `shape`
and `rebuilding` go from cells to a frame; `given` keeps one; `files` reads and writes them, `chunks` a piece at a
time, with its `row_labels`. Importing this teaches `core.table.summarise`, and so `Schema.infer`, data frames.
"""

from l2c.adapters.frames.chunks import Chunk, Chunks, Source, chunks_of
from l2c.adapters.frames.files import read_file, replacing, write_file
from l2c.adapters.frames.given import Given, features_of
from l2c.adapters.frames.kinds import kind_of
from l2c.adapters.frames.opened import Opened, opened
from l2c.adapters.frames.reading import Reading, RowProblem, read, strict
from l2c.adapters.frames.rebuilding import (
    decorate,
    decorated,
    holds_what_is_built,
    index_of,
    rebuild,
    rebuilt_columns,
)
from l2c.adapters.frames.shape import FrameShape, shape_of
from l2c.adapters.frames.summary import summary_of

__all__ = [
    "Chunk",
    "Chunks",
    "FrameShape",
    "Given",
    "Opened",
    "Reading",
    "RowProblem",
    "Source",
    "chunks_of",
    "decorate",
    "decorated",
    "features_of",
    "holds_what_is_built",
    "index_of",
    "kind_of",
    "opened",
    "read",
    "read_file",
    "rebuild",
    "rebuilt_columns",
    "replacing",
    "shape_of",
    "strict",
    "summary_of",
    "write_file",
]
