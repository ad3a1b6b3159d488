"""Explaining a table of any length: chunk by chunk, each written as it is done, to be gone on with at any time.

A part is a found file of its own, put in place in one step: a run that is ended leaves the parts before it, and what it
was asked, by which it is known whether the next run may go on.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from l2c.adapters import frames, parts, records
from l2c.adapters.bundles import digest_of
from l2c.adapters.frames import FrameShape
from l2c.adapters.models.deciding import described
from l2c.adapters.seals import seal, sha256, unseal
from l2c.app.asked import NAMES, Asked
from l2c.app.call import Call
from l2c.app.explanations import Explanations, read
from l2c.app.people import People
from l2c.app.progress import Progress
from l2c.app.requests import whole_number_problems
from l2c.core.fingerprint import fingerprint, same_model
from l2c.core.types import Probabilities
from l2c.errors import DataError, InputError, nearest

CHUNK = 1000
"""Rows explained at once."""

KIND = "l2c stream"
MANIFEST = "_stream.json"
"""Readers of folders of Parquet files pass over names that begin so."""


FOLLOWING = ("pool", "tries")


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


@dataclass(frozen=True, slots=True, eq=False)
class Begun:
    """By what a stream knows whether a folder was begun with the same request.

    Parameters
    ----------
    told
        What decides the answer, each as a text that is the same however it was said.
    versions
        The answers, to rows that belong to nobody, of other versions of the model that must agree.
    """

    told: Mapping[str, str]
    versions: tuple[Probabilities, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"request": dict(self.told), "versions": [answers.tolist() for answers in self.versions]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Begun:
        return cls(data["request"], tuple(np.array(answers) for answers in data.get("versions", ())))

    def differs(self, other: Begun) -> list[str]:
        """Return the names of what is not the same."""
        names = [name for name in sorted({*self.told, *other.told}) if self.told.get(name) != other.told.get(name)]
        if len(self.versions) == len(other.versions) and not all(map(same_model, self.versions, other.versions)):
            names.append("robust")
        # Unless they were said themselves, these follow from n and the like.
        return [name for name in names if name not in FOLLOWING] or names


def begun_with(call: Call, chunk: int) -> Begun:
    """Return by what a call is known again."""
    request, policy, bundle = call.request, call.policy, call.answerer.bundle
    told: dict[str, Any] = {
        **request.to_dict(),
        **described(call.answerer.aimed),
        "n": request.n,
        "chunk": chunk,
        "pool": (request.pool, request.patience),
        "reasons": request.reasons,
        "desired": request.wish.desired and sorted(request.wish.desired),
        "desired_proba": request.wish.proba,
        "bundle": digest_of(bundle),
    }
    told |= told.pop("limits", {})
    if "lock" in told:
        told["lock"] = sorted(set(told["lock"]))
    if policy is not None and policy.crowd is not None:
        levels, label = policy.crowd.levels, policy.crowd.label
        content = repr(levels.shape).encode() + levels.tobytes() + (b"" if label is None else label.tobytes())
        # A small population could be guessed by a plain hash.
        told["population"] = sha256(content) if bundle.secret is None else bundle.secret.mark(content)
    texts = {name: json.dumps(_alike(value), sort_keys=True) for name, value in told.items() if value is not None}
    also = call.answerer.also
    return Begun(texts, tuple(fingerprint(version, call.answerer.layout) for version in also))


def _alike(value: Any) -> Any:
    """Return plain data in which numbers that are equal read alike, whole or not."""
    if isinstance(value, Mapping):
        return {name: _alike(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_alike(part) for part in value]
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def stream(
    call: Call,
    read: Callable[[Any], People],
    chunks: frames.Chunks,
    folder: Path,
    begun: Begun,
    progress: Progress | None,
) -> Streamed:
    """Explain chunks one after the other, and write a part for each.

    Parameters
    ----------
    read
        From a chunk to its rows.
    begun
        What decides the answer: a folder that was begun with something else is not gone on with.
    """
    before, tally, number = _parts_before(folder, begun), _Tally(), -1
    for number, frame in enumerate(chunks.frames):
        path = parts.part_path(folder, number)
        with _told_by_place_in(tally.rows):
            people = read(frame)
            if number < before:
                tally.count_part(path, people)
            else:
                found = _placed(call.answer(people), tally.rows)
                if not number:
                    _mark(folder, begun)
                found.write_part(path, tally.rows, tally.shape)
                tally.count(found)
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


@contextmanager
def _told_by_place_in(first: int) -> Iterator[None]:
    """Tell rows that cannot be used by their place in the whole stream."""
    try:
        yield
    except DataError as error:
        if not first:
            raise
        told = (re.sub(r", row (\d+):", lambda row: f", row {first + int(row[1])}:", one) for one in error.problems)
        raise DataError(f"rows {first} and on: {problem}" for problem in told) from None


def _placed(found: Explanations, first: int) -> Explanations:
    """Return explanations whose rows that cannot be read are told by their place in the whole stream.

    Labels that are just the rows' places in it are none.
    """
    outcomes = [
        replace(outcome, sentence=outcome.sentence.replace(f", row {row}:", f", row {first + row}:"))
        if outcome.status == "bad_input"
        else outcome
        for row, outcome in enumerate(found.outcomes)
    ]
    places = list(range(first, first + len(outcomes)))
    index = None if found.index is not None and list(found.index) == places else found.index
    return replace(found, released=replace(found.released, outcomes=tuple(outcomes)), index=index)


@dataclass(slots=True)
class _Tally:
    """What was found so far, and the shape of the first frame."""

    rows: int = 0
    counterfactuals: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    shape: FrameShape | None = None

    def count(self, found: Explanations) -> None:
        self._add(len(found), [outcome.status for outcome in found.outcomes], found.shape)

    def count_part(self, path: Path, people: People) -> None:
        """Count what an earlier run found, or raise if it was for other rows than those that come now."""
        known = records.glance(path)
        if (known.first, known.people) != (self.rows, records.digest_of_people(people.cells)):
            raise InputError(
                f"{path} was made of other rows than those that come now; remove it and the parts behind it to have "
                "them made anew, or choose another folder"
            )
        self._add(known.counterfactuals, known.statuses, known.shape)

    def _add(self, counterfactuals: int, statuses: list[str], shape: FrameShape) -> None:
        self.rows += len(statuses)
        self.counterfactuals += counterfactuals
        self.outcomes.update(statuses)
        self.shape = shape if self.shape is None else self.shape


def _parts_before(folder: Path, begun: Begun) -> int:
    """Return how many parts a folder holds already, or raise if they are of something else."""
    manifest = folder / MANIFEST
    if manifest.exists():
        before = len(parts.parts_in(folder))
        other = begun.differs(Begun.from_dict(unseal(KIND, manifest.read_bytes(), str(manifest))))
        if other and before:
            named = f"{', '.join(other)} {'differs' if len(other) == 1 else 'differ'}"
            # To be fitted again is to get another secret key.
            fitted = "; an explainer that is fitted again is another one, one that was saved and loaded is the same"
            raise InputError(
                f"{folder} was begun with another request: {named}; ask for the same to go on with it, "
                f"or choose another folder{fitted if 'bundle' in other else ''}"
            )
        return before
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(not path.name.startswith(".") for path in folder.iterdir())
    except FileExistsError:
        taken = True
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}; choose another") from None
    if taken:
        raise InputError(f"{folder} exists and is not the folder of a stream; choose another")
    return 0


def _mark(folder: Path, begun: Begun) -> None:
    """Write down with what a folder is begun, as its first part is about to be put there."""
    with frames.replacing(folder / MANIFEST) as draft:
        draft.write_text(seal(KIND, begun.to_dict()))
