"""From a frame to cells: whole-table problems raise at once, single bad cells are told row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from l2c.adapters.frames.columns import (
    arrays,
    decoded,
    encoded,
    family,
    is_missing,
    naming_problems,
    numbers,
    size_problems,
)
from l2c.adapters.frames.opened import Opened, opened
from l2c.adapters.frames.stored import FrameKind, Numbers
from l2c.core.compiled import Compiled, compiles
from l2c.core.feature import Feature
from l2c.core.schema import Schema
from l2c.core.types import Cells, Label, Mask
from l2c.errors import DataError, nearest

SHOWN = 20
"""How many bad cells an error lists before it counts the rest."""

SUGGESTIONS = 100
"""How many unknown values of a column get a suggestion: each is compared with every level, which is slow."""

FEW = 16
"""Rows of which each value is looked up, and not each distinct one."""

_MISSING = float("nan")

_UNKNOWN = -1.0
"""The code of a value that is no level, until it is told as a problem."""


@dataclass(frozen=True, slots=True)
class RowProblem:
    """A cell that cannot be read: its row's position in the frame, its column, and what is wrong with it.

    `first` is the place of the frame's first row in a longer table, of which the sentence speaks.
    """

    row: int
    column: str
    phrase: str
    first: int = 0

    @property
    def sentence(self) -> str:
        """What is wrong, and where."""
        return f"column {self.column!r}, row {self.first + self.row}: {self.phrase}"


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A frame as cells in the schema's order, and the cells that could not be read.

    Parameters
    ----------
    cells
        Numbers and level indices, NaN where missing; a row with a bad cell is all NaN.
    problems
        The bad cells, by row.
    bad_rows
        Which rows have one.
    """

    cells: Cells
    problems: tuple[RowProblem, ...]
    bad_rows: Mask


def read(frame: Any, schema: Schema, first: int = 0) -> Reading:
    """Return a frame as cells, whatever the order of its columns; the target is left out.

    Parameters
    ----------
    first
        The place of the frame's first row in a longer table: rows are told by theirs.

    Raises
    ------
    DataError
        With every problem of the table as a whole: its columns' names and types, or no rows at all.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema((Feature(name="age", kind="numeric"), Feature(name="job", kind="categorical",
    ...                                                               levels=("clerk", "nurse"))))
    >>> reading = read(pd.DataFrame({"job": ["nurse", "nurs"], "age": [30, 40]}), schema)
    >>> reading.cells[0]
    array([30.,  1.])
    >>> reading.problems[0].sentence
    "column 'job', row 1: 'nurs' is not a known level; did you mean 'nurse'?"
    """
    try:
        return _read(opened(frame), schema, first)
    except UnicodeDecodeError:
        raise DataError(
            "a column of texts holds bytes that are no text in UTF-8; read the data in the encoding that it was "
            "written in"
        ) from None


def _read(sheet: Opened, schema: Schema, first: int) -> Reading:
    kind, rows = sheet.kind, len(sheet.frame)
    problems = []
    if not _is_declared(sheet.names, schema):
        problems = [*naming_problems(sheet.names), *_matching_problems(sheet.names, schema)]
    problems += size_problems(sheet.frame)
    columns = {name: column for name, column in sheet.named().items() if name in schema}
    plain = {name: _plain(kind, schema, name, column, few=rows <= FEW) for name, column in columns.items()}
    others = {name: column for name, column in columns.items() if plain[name] is None}
    found = arrays(others, kind, problems)
    typed = [problem for name, array in found.items() for problem in _type_problems(schema[name], array)]
    problems += [replace(problem, first=first).sentence for problem in typed]
    if problems:
        raise DataError(problems)
    cells = np.empty((rows, len(schema.features)))
    for i, name in enumerate(schema.names):
        values = plain[name]
        cells[:, i] = _cells(schema, i, found[name]) if values is None else values
    if compiles() and are_sound(cells, schema.numeric, schema.integer, schema.missing):
        return Reading(cells, (), np.zeros(len(cells), dtype=bool))
    suspect = suspects(schema, cells)
    if not suspect.any():
        return Reading(cells, (), np.zeros(len(cells), dtype=bool))
    told = [
        replace(problem, first=first)
        for i in np.flatnonzero(suspect.any(axis=0))
        for problem in _problems(schema.features[i], kind.arrow(columns[schema.names[i]]), cells[:, i])
    ]
    return _reading(cells, sorted(told, key=lambda problem: problem.row))


def _plain(kind: FrameKind, schema: Schema, name: str, column: Any, *, few: bool) -> Numbers | list[float] | None:
    """Return the cells of a column that is known by its type to be numbers, or few texts; None of others."""
    place = schema.index(name)
    if schema.features[place].numeric:
        return kind.numbers(column)
    texts = kind.texts(column) if few else None
    return None if texts is None else _looked_up(schema.level_codes[place], texts)


def _cells(schema: Schema, place: int, array: pa.Array) -> Numbers:
    """Return the cells of a column that is given as Arrow."""
    return numbers(array) if schema.features[place].numeric else _codes(schema.level_codes[place], array)


def strict(reading: Reading) -> Cells:
    """Return the cells of a reading without a bad one, or raise with the first bad cells and a count."""
    sentences = [problem.sentence for problem in reading.problems]
    if len(sentences) > SHOWN:
        raise DataError([*sentences[:SHOWN], f"and {len(sentences) - SHOWN} more"])
    if sentences:
        raise DataError(sentences)
    return reading.cells


def _reading(cells: Cells, problems: Sequence[RowProblem]) -> Reading:
    bad_rows = np.zeros(len(cells), dtype=bool)
    bad_rows[[problem.row for problem in problems]] = True
    cells[bad_rows] = np.nan
    return Reading(cells, tuple(problems), bad_rows)


def _is_declared(names: Sequence[Any], schema: Schema) -> bool:
    """Return whether names are those of the schema, each once, in any order; the target may be among them."""
    own = set(names)
    return len(own) == len(names) and schema.declares(own - {schema.target})


def _matching_problems(names: Sequence[Any], schema: Schema) -> Iterator[str]:
    texts = dict.fromkeys(name for name in names if isinstance(name, str))
    absent = [name for name in schema.names if name not in texts]
    for name in absent:
        yield f"column {name!r} is missing, but the schema declares it"
    for name in texts:
        if name not in schema and name != schema.target:
            yield f"column {name!r} is not in the schema{nearest(name, absent) or '; drop it, or declare it'}"


def _type_problems(feature: Feature, array: pa.Array) -> Iterator[RowProblem]:
    """Yield the first value of a numeric feature's column that is of another type."""
    if feature.numeric and family(array) in ("text", "boolean"):
        values = list(enumerate(array.to_pylist()))
        known = [(row, value) for row, value in values if not is_missing(value)]
        wrong = [(row, value) for row, value in known if not reads_as_number(value)]
        for row, value in (wrong or known)[:1]:
            phrase = "is not a number" if wrong else "is a text, not a number"
            yield _problem(feature, row, f"{value!r} {phrase}; {_declared(feature, 'numeric')}")


def reads_as_number(value: str | bool) -> bool:
    """Return whether a text says a number; Python also takes `1_000` for one, which no table does."""
    try:
        return isinstance(value, str) and "_" not in value and not np.isnan(float(value))
    except ValueError:
        return False


@Compiled
def are_sound(cells: Cells, numeric: Mask, integer: Mask, missing: Mask) -> bool:
    """Return whether all cells can be read."""
    for row in range(len(cells)):
        for i in range(cells.shape[1]):
            value = cells[row, i]
            if np.isnan(value):
                sound = missing[i]
            elif numeric[i]:
                sound = not np.isinf(value) and (not integer[i] or value == np.trunc(value))
            else:
                sound = value != _UNKNOWN
            if not sound:
                return False
    return True


def suspects(schema: Schema, cells: Cells) -> Mask:
    """Return which cells cannot be read."""
    gone = np.isnan(cells)
    with np.errstate(invalid="ignore"):
        broken = np.isinf(cells) | (schema.integer & (cells != np.trunc(cells)) & ~gone)
    return np.asarray(np.where(schema.numeric, broken, cells == _UNKNOWN) | (gone & ~schema.missing))


def _problems(feature: Feature, array: pa.Array, cells: Numbers) -> Iterator[RowProblem]:
    yield from _number_problems(feature, cells) if feature.numeric else _level_problems(feature, array, cells)
    yield from _missing_problems(feature, cells)


def _codes(known: Mapping[Label, float], array: pa.Array) -> Numbers:
    """Return the index of each value's level, NaN where missing, `_UNKNOWN` where there is none."""
    if len(array) <= FEW:  # as many look-ups as finding the distinct values would take
        return np.array(_looked_up(known, decoded(array).to_pylist()))
    distinct = encoded(array)
    by_place = [*_looked_up(known, distinct.dictionary.to_pylist()), np.nan]
    return np.array(by_place)[distinct.indices.fill_null(len(by_place) - 1).to_numpy()]


def _looked_up(known: Mapping[Label, float], values: Sequence[Any]) -> list[float]:
    # What is missing is None, or differs from itself.
    return [_MISSING if value is None or value != value else known.get(value, _UNKNOWN) for value in values]


def _level_problems(feature: Feature, array: pa.Array, codes: Numbers) -> Iterator[RowProblem]:
    rows = np.flatnonzero(codes == _UNKNOWN)
    phrases: dict[object, str] = {}
    for row, value in zip(rows, array.take(pa.array(rows)).to_pylist(), strict=True):
        if value not in phrases:
            suggestion = nearest(value, feature.levels) if len(phrases) < SUGGESTIONS else ""
            phrases[value] = f"{value!r} is not a known level{suggestion or some_levels(feature)}"
        yield _problem(feature, row, phrases[value])


def some_levels(feature: Feature) -> str:
    """Return the words for what would have been known."""
    more = ", …" if len(feature.levels) > 5 else ""
    return f"; known are {', '.join(map(repr, feature.levels[:5]))}{more}"


def _number_problems(feature: Feature, values: Numbers) -> Iterator[RowProblem]:
    for row in np.flatnonzero(np.isinf(values)):
        yield _problem(feature, row, f"{values[row]} is not a finite number")
    if feature.integer:
        for row in np.flatnonzero((values != np.trunc(values)) & ~np.isnan(values)):
            yield _problem(feature, row, f"{values[row]} is not whole; {_declared(feature, 'integer')}")


def _missing_problems(feature: Feature, cells: Numbers) -> Iterator[RowProblem]:
    if not feature.missing:
        for row in np.flatnonzero(np.isnan(cells)):
            yield _problem(
                feature,
                row,
                "missing, but the schema says it never is; fill it in, or declare missing = true",
            )


def _problem(feature: Feature, row: int | np.integer[Any], phrase: str) -> RowProblem:
    return RowProblem(int(row), feature.name, phrase)


def _declared(feature: Feature, what: str) -> str:
    return f"the schema declares {feature.name!r} {what}"
