"""Tables in CSV and Parquet files, written whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import pyarrow as pa

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
    except (pd.errors.ParserError, UnicodeDecodeError, pa.ArrowException) as error:
        raise DataError(f"file {str(path)!r} is not a {_suffix(path)[1:]} file that can be read: {error}") from None


MISSING_WORDS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What pandas takes for missing in a CSV file, if nobody tells it otherwise."""


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


def as_declared(frame: pd.DataFrame, schema: Schema | None) -> pd.DataFrame:
    """Return rows of a file without types in those that hold all that the schema allows, whatever these rows are."""
    features = (feature for feature in schema.features if feature.name in frame) if schema else ()
    truths = (one.name for one in features if set(map(type, one.levels)) == {bool})
    empty = [name for name in truths if frame.dtypes[name] == "float64" and frame[name].isna().all()]
    return with_fractions(frame.astype(dict.fromkeys(empty, object)) if empty else frame, schema)


def with_fractions(frame: pd.DataFrame, schema: Schema | None, *, gaps_alone: bool = False) -> pd.DataFrame:
    """Return rows in which numbers that need not be whole are fractions, also where all of these happen to be whole.

    Parameters
    ----------
    gaps_alone
        Whether only numbers that may be missing are meant: a file with types says itself what the others are.
    """
    features = (feature for feature in schema.features if feature.name in frame) if schema else ()
    fractions = (one.name for one in features if one.missing or not (gaps_alone or _is_whole(one)))
    whole = [name for name in fractions if str(frame.dtypes[name]).startswith(("int", "uint"))]
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
    draft = path.with_name(f".{secrets.token_hex(8)}-{path.name}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(f"file {str(path)!r}: the name must end in .csv or .parquet{nearest(suffix, SUFFIXES)}")
    return suffix


def _neighbour(path: Path) -> str:
    found = sorted(other.name for other in path.parent.glob("*")) if path.parent.is_dir() else []
    return nearest(path.name, found)
