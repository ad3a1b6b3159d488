"""Whether counterfactuals that people were given still hold under a new version of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from jaxtyping import Float64, Int64

from l2c.adapters import frames
from l2c.adapters.frames.kinds import library_of
from l2c.adapters.frames.worded import in_words
from l2c.adapters.models.watch import probe_steadiness
from l2c.app.aims import version_of
from l2c.app.explanations import Explanations, read
from l2c.app.judging import Shown, judged_on
from l2c.core.blackbox import decide
from l2c.core.types import Label, Mask

PROBED = 8
"""Counterfactuals on which a new version is first asked whether it is steady."""


@dataclass(frozen=True, slots=True)
class Person:
    """What became of one person's counterfactuals: how many there are, and the ranks of those that no longer hold."""

    row: int
    index: object
    counterfactuals: int
    lost: tuple[int, ...]

    @property
    def sentence(self) -> str:
        """The same in words."""
        who = f"row {self.row}" if self.index is None else f"row {self.row} ({self.index})"
        if len(self.lost) == self.counterfactuals:
            return f"{who}: none of {self.counterfactuals} holds"
        ranks = ", ".join(map(str, self.lost))
        return f"{who}: {len(self.lost)} of {self.counterfactuals} no longer hold, rank {ranks}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; a label that JSON does not know becomes a text."""
        plain = self.index is None or isinstance(self.index, Label)
        index = {} if self.index is None else {"index": self.index if plain else str(self.index)}
        return {"row": self.row, **index, "counterfactuals": self.counterfactuals, "lost": list(self.lost)}


@dataclass(frozen=True, slots=True, eq=False)
class Recheck:
    """Stored counterfactuals under a new version of the model.

    Parameters
    ----------
    found
        The explanations, as they were given.
    holds
        Whether each counterfactual still reaches its goal, in the order of `found.to_frame()`.
    prediction, chance
        What the new version says of each: a class or a number, and the probability of what is desired.
    """

    found: Explanations
    holds: Mask
    prediction: Sequence[Label]
    chance: Float64[np.ndarray, " found"]

    @property
    def people(self) -> tuple[Person, ...]:
        """Everyone who was given counterfactuals, in the order of their rows."""
        released, index = self.found.released, self.found.index
        # Each row's counterfactuals stand together.
        parts = np.unique(released.row, return_index=True, return_counts=True)
        lost = ~self.holds
        return tuple(
            Person(
                row,
                None if index is None else index[row],
                count,
                tuple(released.rank[start : start + count][lost[start : start + count]].tolist()),
            )
            for row, start, count in zip(*(part.tolist() for part in parts), strict=True)
        )

    @property
    def affected(self) -> tuple[Person, ...]:
        """Those who were given one that no longer holds."""
        return tuple(person for person in self.people if person.lost)

    @property
    def all_hold(self) -> bool:
        """Whether every counterfactual holds."""
        return bool(self.holds.all())

    @property
    def sentence(self) -> str:
        """What came out, in a sentence."""
        if not len(self.holds):
            return "there are no counterfactuals to check"
        people, affected = self.people, self.affected
        if not affected:
            return f"all {len(self.holds)} counterfactuals of {_people(len(people))} still hold"
        empty = sum(len(person.lost) == person.counterfactuals for person in affected)
        return (
            f"{int(self.holds.sum())} of {len(self.holds)} counterfactuals still hold; "
            f"{len(affected)} of {_people(len(people))} lost at least one, {empty} of them all"
        )

    def to_frame(self) -> Any:
        """Return every counterfactual as a long frame of the input's kind, with the new version's answer.

        Columns: `row`, `rank`, `index` where the input has labels, the features as `Explanations.to_frame` tells them,
        and what the new version says: `prediction`, `probability` (of a predicted number there is none) and `holds`.
        """
        released, index = self.found.released, self.found.index
        before: dict[str, Any] = {"row": released.row, "rank": released.rank}
        if index is not None:
            before["index"] = [index[row] for row in released.row]
        after: dict[str, Any] = {"prediction": list(self.prediction), "probability": self.chance, "holds": self.holds}
        if released.measured is not None:
            del after["probability"]
        return frames.decorate(in_words(self.found.features(), released), before, after)

    def lost(self) -> Any:
        """Return the rows of `to_frame` that no longer hold."""
        return nw.from_native(self.to_frame(), eager_only=True).filter((~self.holds).tolist()).to_native()

    def by_person(self) -> Any:
        """Return a frame with a line for everyone who was given counterfactuals: how many, and how many still hold."""
        people = self.people
        columns: dict[str, Any] = {"row": [person.row for person in people]}
        if self.found.index is not None:
            columns["index"] = [person.index for person in people]
        lost = np.array([len(person.lost) for person in people], dtype=np.int64)
        count = np.array([person.counterfactuals for person in people], dtype=np.int64)
        columns |= {"counterfactuals": count, "holding": count - lost, "lost": lost}
        return library_of(self.found.frame).frame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, and those whom it concerns, as plain data."""
        affected = self.affected
        return {
            "sentence": self.sentence,
            "counterfactuals": len(self.holds),
            "holding": int(self.holds.sum()),
            "lost": int((~self.holds).sum()),
            "people": len(self.people),
            "people_affected": len(affected),
            "people_without_any": sum(len(person.lost) == person.counterfactuals for person in affected),
            "affected": [person.to_dict() for person in affected],
        }

    def write(self, path: str | Path) -> None:
        """Write the counterfactuals that no longer hold to a .csv or .parquet file."""
        frames.write_file(self.lost(), path)

    def __repr__(self) -> str:
        return f"<Recheck: {self.sentence}>"


def recheck(found: str | Path | Explanations, *, model: object, threshold: float | None = None) -> Recheck:
    """Return which stored counterfactuals still hold under a new version of the model, asked on the very same rows.

    Each is held against the goal that it was found for: a class, several, a range of probability or of a number. A
    margin that was asked for when it was found is not asked again: it was there to be used up.

    Parameters
    ----------
    found
        Explanations, or the path of a file of them.
    model
        The new version; its classes have the same labels as the old one's.
    threshold
        Where the new version decides, if that is not where the old one did.

    Raises
    ------
    OtherModelError
        If the model has other classes.
    """
    stored = found if isinstance(found, Explanations) else read(found)
    released = stored.released
    version = version_of(model, stored.mark, released.layout, threshold)
    if not len(stored):
        return Recheck(stored, np.zeros(0, dtype=bool), [], np.empty(0))
    probe_steadiness(version, released.cells[:PROBED])
    proba, numbers = judged_on(version, stored.mark.shape, Shown(stored.given, stored.shape, released))
    decides = stored.mark.threshold if threshold is None else threshold
    goal = replace(released.goal.take(released.row), threshold=decides, margin=0.0)
    labels = _labels(released.classes, decide(proba, decides)) if numbers is None else numbers.tolist()
    return Recheck(stored, goal.reached(proba), labels, goal.chance(proba))


def _labels(classes: tuple[Label, ...], indices: Int64[np.ndarray, " found"]) -> list[Label]:
    return [classes[index] for index in indices.tolist()]


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count} people"
