"""Explaining a table of any length: chunk by chunk, each written as it is done, to be gone on with at any time.

A part is a found file of its own, put in place in one step: a run that is ended leaves the parts before it, and what it
was asked, by which it is known whether the next run may go on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from l2c.adapters import frames, records
from l2c.adapters.seals import seal, unseal
from l2c.app.explanations import Explanations, read
from l2c.app.progress import Progress
from l2c.core.types import Cells
from l2c.errors import InputError

CHUNK = 1000
"""Rows explained at once."""

KIND = "l2c stream"
MANIFEST = "_stream.json"
"""Readers of folders of Parquet files pass over names that begin so."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """How a stream went.

    Parameters
    ----------
    folder
        Where the parts are.
    rows, counterfactuals
        How many there are in all, of this run and of those that it went on with.
    outcomes
        How many rows ended in each way.
    parts
        How many parts there are, and of them how many were there before this run.
    """

    folder: Path
    rows: int
    counterfactuals: int
    outcomes: Mapping[str, int]
    parts: int
    parts_before: int

    def read(self) -> Explanations:
        """Return all of it as explanations, if it fits in the memory."""
        return read(self.folder)


def unstreamable(asked: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a stream cannot be asked for."""
    if asked.get("limits") is not None:
        yield "limits are given row by row, which a stream cannot: say them for all rows, or explain a frame"
    if asked.get("seconds") is not None:
        yield "seconds ends one call of explain; a stream may be ended at any time, and goes on where it stopped"
    if getattr(asked.get("gate"), "scope", None) == "release":
        yield "a gate over the whole release has to see all of it before any of it leaves: explain a frame instead"


def plain_request(asked: Mapping[str, Any]) -> dict[str, str]:
    """Return what is asked as texts that are the same in every run; a model is told by its type alone."""
    return {name: _told(value) for name, value in sorted(asked.items()) if value is not None}


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return json.dumps({str(name): _told(part) for name, part in value.items()})
    if isinstance(value, list | tuple | set | frozenset):
        return json.dumps([_told(part) for part in value])
    plain = isinstance(value, str | int | float | bool) or hasattr(value, "__dataclass_fields__")
    return repr(value) if plain else type(value).__name__


def stream(
    explain: Callable[[Any], Explanations],
    cells_of: Callable[[Any], Cells],
    chunks: frames.Chunks,
    folder: Path,
    request: Mapping[str, Any],
    progress: Progress | None,
) -> Streamed:
    """Explain chunks one after the other, and write a part for each.

    Parameters
    ----------
    explain
        From a chunk to its explanations.
    cells_of
        From a chunk to its rows, by which it is recognised.
    request
        What decides the answer: a folder that was begun with another is not gone on with.
    """
    before = _taken_up(folder, {**request, "source": chunks.mark})
    tally = _Tally()
    for number, frame in enumerate(chunks.frames):
        path = records.part_path(folder, number)
        if number < before:
            _check_same(path, cells_of(frame), tally.rows)
            tally.count_part(path)
        else:
            _write_part(explain(frame), path, tally)
        if progress:
            progress(tally.rows, max(chunks.rows or 0, tally.rows))
    parts = len(records.parts_in(folder))
    return Streamed(folder, tally.rows, tally.counterfactuals, dict(tally.outcomes), parts, before)


def _write_part(found: Explanations, path: Path, tally: _Tally) -> None:
    """Write a chunk's explanations and count them; nothing of them is kept while the next ones are made."""
    _placed(found, tally.rows).write_part(path, tally.rows)
    tally.count(found)


def _placed(found: Explanations, first: int) -> Explanations:
    """Return explanations whose rows that cannot be read are told by their place in the whole stream."""
    outcomes = [
        replace(outcome, sentence=outcome.sentence.replace(f", row {row}:", f", row {first + row}:"))
        if outcome.status == "bad_input"
        else outcome
        for row, outcome in enumerate(found.outcomes)
    ]
    return replace(found, released=replace(found.released, outcomes=tuple(outcomes)))


@dataclass(slots=True)
class _Tally:
    """What was found so far."""

    rows: int = 0
    counterfactuals: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    def count(self, found: Explanations) -> None:
        self._add(len(found), [outcome.status for outcome in found.outcomes])

    def count_part(self, path: Path) -> None:
        """Count what an earlier run found."""
        statuses = pq.read_table(path, columns=[records.column_of(path, "status")]).column(0).to_pylist()
        known = [status for status in statuses if status is not None]
        self._add(len(statuses) - len(known), known)

    def _add(self, counterfactuals: int, statuses: list[str]) -> None:
        self.rows += len(statuses)
        self.counterfactuals += counterfactuals
        self.outcomes.update(statuses)


def _taken_up(folder: Path, request: Mapping[str, Any]) -> int:
    """Return how many parts a folder holds already, and mark it with the request if it is new."""
    manifest = folder / MANIFEST
    if manifest.exists():
        known = unseal(KIND, manifest.read_bytes(), str(manifest))["request"]
        other = [name for name in sorted({*known, *request}) if known.get(name) != request.get(name)]
        if other:
            named = f"{', '.join(other)} {'differs' if len(other) == 1 else 'differ'}"
            # To be fitted again is to get another secret key.
            fitted = "; an explainer that is fitted again is another one, one that was saved and loaded is the same"
            raise InputError(
                f"{folder} was begun with another request: {named}; ask for the same to go on with it, "
                f"or choose another folder{fitted if 'bundle' in other else ''}"
            )
        return len(records.parts_in(folder))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not the folder of a stream; choose another")
    folder.mkdir(parents=True, exist_ok=True)
    with frames.replacing(manifest) as draft:
        draft.write_text(seal(KIND, {"request": dict(request)}))
    return 0


def _check_same(path: Path, cells: Cells, first: int) -> None:
    """Raise if the rows of a part are not those that come now."""
    if records.people_in(path) != (first, records.digest_of_people(cells)):
        raise InputError(f"{path} was made of other rows than those that come now; choose another folder")
