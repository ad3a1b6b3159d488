"""Tables in CSV and Parquet files, written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import pyarrow as pa

from l2c.adapters.frames.reading import SHOWN, reads_as_number, some_levels
from l2c.core.feature import Feature
from l2c.core.schema import Schema
from l2c.errors import DataError, nearest

SUFFIXES = (".csv", ".parquet")


def read_file(path: str | Path, schema: Schema | None = None) -> pd.DataFrame:
    """Return the table in a CSV or Parquet file, as pandas reads it: an empty cell, or a word such as NA, is missing.

    A CSV file has no types. With a schema, a column whose levels are texts stays text where they look like numbers, its
    levels are levels where they read like "missing", and one of fractions is one of fractions where all are whole.
    """
    path = checked_path(path)
    with telling_problems(path):
        csv = path.suffix.lower() == ".csv"
        options = csv_options(path, schema) if csv else {}
        frame = as_declared(pd.read_csv(path, **options), schema) if csv else pd.read_parquet(path)
    if frame.empty:
        raise DataError(f"file {str(path)!r} has no rows")
    return frame


def checked_path(path: str | Path) -> Path:
    """Return the path of a CSV or Parquet file that is there, or raise."""
    path = Path(path)
    if path.is_dir():
        raise DataError(
            f"{str(path)!r} is a folder; give one file. The Parquet files of a folder can be explained as frames that "
            "come one after the other: explain_stream(pyarrow.dataset.dataset(folder).to_batches(), …)"
        )
    _suffix(path)
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}{_neighbour(path)}")
    return path


@contextmanager
def telling_problems(path: Path) -> Iterator[None]:
    """Tell what is wrong with a file that is read, in a sentence."""
    try:
        yield
    except pd.errors.EmptyDataError:
        raise DataError(f"file {str(path)!r} is empty") from None
    except (pd.errors.ParserError, UnicodeDecodeError, pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # it says itself what is wrong with the disk; Arrow's own have no number
        raise DataError(f"file {str(path)!r} is not a {_suffix(path)[1:]} file that can be read: {error}") from None


MISSING_WORDS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What pandas takes for missing in a CSV file, if nobody tells it otherwise."""


TRUTHS = ("true", "false")
"""What pandas takes for truths in a CSV file, in whatever case."""


def csv_options(path: Path, schema: Schema | None) -> dict[str, Any]:
    """Return how pandas is to read a CSV file: which columns are texts, and which words are levels and not gaps."""
    texts = {
        feature.name: set(feature.levels)
        for feature in (schema.features if schema else ())
        if feature.levels and all(isinstance(level, str) for level in feature.levels)
    }
    options: dict[str, Any] = {"dtype": dict.fromkeys(texts, str)}
    if any(levels.intersection(MISSING_WORDS) for levels in texts.values()):
        # pandas can be told so only by naming all columns.
        gaps = {name: [word for word in MISSING_WORDS if word not in texts.get(name, ())] for name in _header(path)}
        options |= {"keep_default_na": False, "na_values": gaps}
    return options


def _header(path: Path) -> list[str]:
    return [str(name) for name in pd.read_csv(path, nrows=0).columns]


def as_declared(frame: pd.DataFrame, schema: Schema | None, first: int = 0) -> pd.DataFrame:
    """Return rows of a file without types in those that hold all that the schema allows, whatever these rows are.

    Parameters
    ----------
    first
        The place of the first row in the file.

    Raises
    ------
    DataError
        If a cell makes texts of a column of truths or numbers: they would all be read as other than they are.
    """
    features = [feature for feature in schema.features if feature.name in frame] if schema else []
    problems = [problem for feature in features for problem in _misfits(feature, frame[feature.name], first)]
    if problems:
        more = len(problems) - SHOWN
        raise DataError([*problems[:SHOWN], *([f"and {more} more"] if more > 0 else [])])
    truths = (one.name for one in features if set(map(type, one.levels)) == {bool})
    empty = [name for name in truths if frame.dtypes[name] == "float64" and frame[name].isna().all()]
    whole = (one.name for one in features if one.missing or not _is_whole(one))
    return with_fractions(frame.astype(dict.fromkeys(empty, object)) if empty else frame, whole)


def _misfits(feature: Feature, column: pd.Series[Any], first: int) -> Iterator[str]:
    """Yield the texts in a column whose levels are truths or numbers."""
    if not feature.levels or any(isinstance(level, str) for level in feature.levels):
        return
    if not pd.api.types.is_object_dtype(column) and not pd.api.types.is_string_dtype(column):
        return
    truths, numbers = (any(isinstance(level, bool) == what for level in feature.levels) for what in (True, False))
    for row, value in enumerate(column):
        if not isinstance(value, str):
            continue
        if not (truths and value.lower() in TRUTHS) and not (numbers and reads_as_number(value)):
            suggestion = nearest(value, feature.levels) or some_levels(feature)
            yield f"column {feature.name!r}, row {first + row}: {value!r} is not a known level{suggestion}"


def with_fractions(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return rows in which some columns hold fractions, also where all of these rows happen to be whole."""
    whole = [name for name in names if str(frame.dtypes[name]).startswith(("int", "uint"))]
    return frame.astype(dict.fromkeys(whole, float)) if whole else frame


def _is_whole(feature: Feature) -> bool:
    """Return whether a feature is a whole number whenever it is one."""
    return feature.integer if feature.numeric else not any(isinstance(level, float) for level in feature.levels)


def write_file(frame: Any, path: str | Path) -> None:
    """Write a frame of any kind to a CSV or Parquet file."""
    path = Path(path)
    suffix = _suffix(path)
    data = nw.from_native(frame, eager_only=True)
    with replacing(path) as draft:
        if suffix == ".csv":
            data.write_csv(draft)
        else:
            data.write_parquet(draft)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a draft to write to; it takes the place of `path` if all went well, and is removed if not.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "note.txt") as draft:
    ...         _ = draft.write_text("done")
    ...     (Path(folder) / "note.txt").read_text()
    'done'
    """
    if not path.parent.is_dir():
        raise DataError(f"there is no folder {str(path.parent)!r} to write {path.name!r} to")
    # Arrow takes a relative path with a colon for an address.
    draft = path.absolute().with_name(f".{secrets.token_hex(8)}-{path.name}")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise DataError(f"{str(path)!r} cannot be written: {reason}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(f"file {str(path)!r}: the name must end in .csv or .parquet{nearest(suffix, SUFFIXES)}")
    return suffix


def _neighbour(path: Path) -> str:
    found = sorted(other.name for other in path.parent.glob("*") if other != path) if path.parent.is_dir() else []
    return nearest(path.name, found)
