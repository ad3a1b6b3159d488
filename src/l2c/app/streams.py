"""Explaining a table of any length: chunk by chunk, each written as it is done, to be gone on with at any time.

A part is a found file of its own, put in place in one step: a run that is ended leaves the parts before it. Each says
with what it was begun, by which it is known whether the next run may go on; the folder holds nothing but parts.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from l2c.adapters import parts
from l2c.adapters.found_file import digest_of_people
from l2c.adapters.found_parts import glance, settled_by
from l2c.adapters.frames import Chunk, Chunks
from l2c.adapters.parts import Part
from l2c.app.asked import NAMES, Asked
from l2c.app.begun import Begun
from l2c.app.call import Call
from l2c.app.explanations import Explanations, read
from l2c.app.people import People
from l2c.app.progress import Progress
from l2c.core.given_numbers import whole_number_problems
from l2c.errors import DataError, InputError, nearest

CHUNK = 1000
"""Rows explained at once."""


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


def asked_of_a_stream(n: int, chunk: int, asked: Mapping[str, Any]) -> Asked:
    """Return what is asked of a stream, or raise if it cannot be asked of one."""
    unknown = [name for name in asked if name not in NAMES]
    if unknown:
        near = nearest(unknown[0], NAMES)
        raise TypeError(f"explain_stream() got an unexpected keyword argument {unknown[0]!r}{near}")
    problems = [*_unstreamable(asked), *whole_number_problems(("chunk", chunk, 1))]
    if problems:
        raise InputError(problems)
    return Asked(n=n, **asked)


def _unstreamable(asked: Mapping[str, Any]) -> Iterator[str]:
    if asked.get("limits") is not None:
        yield "limits are given row by row, which a stream cannot: say them for all rows, or explain a frame"
    if asked.get("seconds") is not None:
        yield "seconds ends one call of explain; a stream may be ended at any time, and goes on where it stopped"
    if getattr(asked.get("gate"), "scope", None) == "release":
        yield "a gate over the whole release has to see all of it before any of it leaves: explain a frame instead"


def stream(
    call: Call,
    read: Callable[[Chunk, int], People],
    chunks: Chunks,
    folder: Path,
    begun: Begun,
    progress: Progress | None,
) -> Streamed:
    """Explain chunks one after the other, and write a part for each.

    Parameters
    ----------
    read
        From a chunk, and the place of its first row, to its rows.
    begun
        What decides the answer: parts that were begun with something else are not gone on with.
    """
    before, tally, number, settled = _parts_before(folder), _Tally(begun), -1, None
    if progress and chunks.rows:
        progress(0, chunks.rows)
    for number, chunk in enumerate(chunks.each):
        path = parts.part_path(folder, number)
        with _told_by_place_in(tally.rows):
            people = read(chunk, tally.rows)
            if number < before:
                tally.count_part(path, people)
            else:
                found = call.answer(people, progress and _within(progress, tally.rows, chunks.rows))
                found.write_part(path, Part(tally.rows, settled, begun.to_dict(), chunk.labels))
                tally.count(found)
            settled = settled_by(path) if settled is None else settled
        if progress:
            progress(tally.rows, max(chunks.rows or 0, tally.rows))
    if number < 0:
        raise DataError("the source has no rows")
    if number + 1 < before:
        raise InputError(
            f"{folder} holds {before} parts, and the source has rows for {number + 1} of them: it is another one than "
            "they were made of; choose another folder"
        )
    return Streamed(folder, tally.rows, tally.counterfactuals, dict(tally.outcomes), number + 1, before)


def _within(progress: Progress, before: int, rows: int | None) -> Progress:
    """Return what tells how far a chunk is, in rows of the whole; it is done when its part is written."""

    def report(done: int, of_chunk: int) -> None:
        if done < of_chunk:
            progress(before + done, max(rows or 0, before + of_chunk))

    return report


@contextmanager
def _told_by_place_in(first: int) -> Iterator[None]:
    """Tell of which chunk rows are that cannot be used."""
    try:
        yield
    except DataError as error:
        if not first:
            raise
        raise DataError(f"rows {first} and on: {problem}" for problem in error.problems) from None


@dataclass(slots=True)
class _Tally:
    """What was found so far."""

    begun: Begun
    rows: int = 0
    counterfactuals: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    def count(self, found: Explanations) -> None:
        """Count what was found just now."""
        self._add(len(found), [outcome.status for outcome in found.outcomes])

    def count_part(self, path: Path, people: People) -> None:
        """Count what an earlier run found, or raise if it was asked for something else, or for other rows."""
        known = glance(path)
        _refuse_another(path, known.stream, self.begun)
        same = (known.first, known.people) == (self.rows, digest_of_people(people.cells, people.sentences))
        if not same or known.labels != people.index:
            other = "rows that are labelled otherwise" if same else "other rows"
            raise InputError(
                f"{path} was made of {other} than those that come now; remove it and the parts behind it to have them "
                "made anew, or choose another folder"
            )
        self._add(known.counterfactuals, known.statuses)

    def _add(self, counterfactuals: int, statuses: list[str]) -> None:
        self.rows += len(statuses)
        self.counterfactuals += counterfactuals
        self.outcomes.update(statuses)


def _refuse_another(path: Path, known: Mapping[str, Any] | None, begun: Begun) -> None:
    """Raise if a part was begun with something else."""
    if known is None:
        raise InputError(f"{path} is a release by itself, and no part of a stream; choose another folder")
    before = Begun.from_dict(known)
    other = begun.differs(before)
    if other:
        named = f"{', '.join(other)} {'differs' if len(other) == 1 else 'differ'}{before.recalled(other)}"
        # To be fitted again is to get another secret key.
        fitted = "; an explainer that is fitted again is another one, one that was saved and loaded is the same"
        raise InputError(
            f"{path.parent} was begun with another request: {named}; ask for the same to go on with it, "
            f"or choose another folder{fitted if 'explainer' in other else ''}"
        )


def _parts_before(folder: Path) -> int:
    """Return how many parts a folder holds already, once it is there and holds nothing else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(
            path.name for path in folder.iterdir() if not path.name.startswith(".") and parts.number_of(path) is None
        )
    except FileExistsError:
        raise InputError(f"{folder} exists and is not the folder of a stream; choose another") from None
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}; choose another") from None
    if others:
        raise InputError(f"{folder} holds {others[0]}, which is no part of a stream; choose another folder")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{folder} cannot be written to; choose another folder")
    parts.remove_drafts(folder)
    return len(parts.parts_in(folder))
