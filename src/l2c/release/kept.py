"""What a search keeps: valid counterfactuals, row by row in the order of drawing, and pools to choose sets from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.compiled import Compiled, compiles
from l2c.core.costs import total_costs
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.types import Cells, Levels, Mask
from l2c.release.select import Selection


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Valid counterfactuals: the row of each, its levels, its values, the probability of what is desired, its class.

    Where the values are not worked out yet they are None, and `second` says which have the second choice of them.
    """

    row: Int64[np.ndarray, " n"]
    levels: Levels
    cells: Cells | None
    chance: Float64[np.ndarray, " n"]
    label: Int64[np.ndarray, " n"]
    second: Mask

    def take(self, which: Int64[np.ndarray, " some"]) -> Kept:
        """Return some of them."""
        # Whole lines are taken: to index them costs a multiple of it.
        cells = None if self.cells is None else self.cells.take(which, axis=0)
        row, levels, chance = self.row.take(which), self.levels.take(which, axis=0), self.chance.take(which)
        return Kept(row, levels, cells, chance, self.label.take(which), self.second.take(which))

    def of(self, which: Int64[np.ndarray, " some"]) -> Kept:
        """Return some of them in their order, in place where that is most of them and loops are compiled.

        This is then used up. A few are copied: what is returned would hold on to the room of all.
        """
        n = len(which)
        if self.cells is not None or not compiles() or 2 * n < len(self.row):
            return self.take(which)
        moved_up(which, self.row, self.levels, self.chance, self.label, self.second)
        return Kept(self.row[:n], self.levels[:n], None, self.chance[:n], self.label[:n], self.second[:n])

    def among(self, start: int) -> Kept:
        """Return the same for rows that begin at some place of a larger batch."""
        return replace(self, row=self.row + start) if start else self


@Compiled
def moved_up(
    which: Int64[np.ndarray, " some"],
    row: Int64[np.ndarray, " n"],
    levels: Levels,
    chance: Float64[np.ndarray, " n"],
    label: Int64[np.ndarray, " n"],
    second: Mask,
) -> None:
    """Move those that are kept, which are told in their order, up to the places of the others."""
    for kept in range(len(which)):
        n = np.uint64(which[kept])
        if n != kept:
            row[kept], chance[kept], label[kept], second[kept] = row[n], chance[n], label[n], second[n]
            for i in range(levels.shape[1]):
                levels[kept, i] = levels[n, i]


def known(cells: Cells | None) -> Cells:
    """Return the values of what was kept, once they are worked out."""
    assert cells is not None
    return cells


def joined(parts: Sequence[Kept], features: int) -> Kept:
    """Return what was kept in several rounds, each row's together and in the order of drawing."""
    if len(parts) == 1:
        return parts[0]
    if compiles() and all(part.cells is None for part in parts) and any(len(part.row) for part in parts):
        return _merged(parts, features)
    row = np.concatenate([np.empty(0, dtype=np.int64), *(part.row for part in parts)])
    whole = Kept(
        row,
        np.concatenate([np.empty((0, features), dtype=np.int16), *(part.levels for part in parts)]),
        _joined_cells(parts, features),
        np.concatenate([np.empty(0), *(part.chance for part in parts)]),
        np.concatenate([np.empty(0, dtype=np.int64), *(part.label for part in parts)]),
        np.concatenate([np.empty(0, dtype=bool), *(part.second for part in parts)]),
    )
    return whole if (np.diff(row) >= 0).all() else whole.take(np.argsort(row, kind="stable"))


def _merged(parts: Sequence[Kept], features: int) -> Kept:
    """Return the same in one pass over each part, where values are not worked out yet."""
    rows = 1 + max(int(part.row.max(initial=-1)) for part in parts)
    counts = [np.bincount(part.row, minlength=rows) for part in parts]
    ends = np.cumsum(np.sum(counts, axis=0))
    n, places = int(ends[-1]), ends - np.sum(counts, axis=0)
    whole = Kept(
        np.empty(n, dtype=np.int64), np.empty((n, features), dtype=np.int16), None, np.empty(n),
        np.empty(n, dtype=np.int64), np.empty(n, dtype=bool),
    )  # fmt: skip
    for part in parts:
        put_in_place(
            places, part.row, part.levels, part.chance, part.label, part.second,
            whole.row, whole.levels, whole.chance, whole.label, whole.second,
        )  # fmt: skip
    return whole


@Compiled
def put_in_place(
    places: Int64[np.ndarray, " rows"],
    row: Int64[np.ndarray, " n"],
    levels: Levels,
    chance: Float64[np.ndarray, " n"],
    label: Int64[np.ndarray, " n"],
    second: Mask,
    all_rows: Int64[np.ndarray, " more"],
    all_levels: Levels,
    all_chances: Float64[np.ndarray, " more"],
    all_labels: Int64[np.ndarray, " more"],
    all_seconds: Mask,
) -> None:
    """Put a part at the next free places of its rows."""
    for n in range(len(row)):
        place = places[row[n]]
        places[row[n]] += 1
        all_rows[place], all_chances[place] = row[n], chance[n]
        all_labels[place], all_seconds[place] = label[n], second[n]
        for i in range(levels.shape[1]):
            all_levels[place, i] = levels[n, i]


def _joined_cells(parts: Sequence[Kept], features: int) -> Cells | None:
    if any(part.cells is None for part in parts):
        return None
    return np.concatenate([np.empty((0, features)), *(known(part.cells) for part in parts)])


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """Valid counterfactuals with a line for each row: where each stands among those kept, and what it is worth.

    A place that holds none has the position -1.
    """

    kept: Kept
    position: Int64[np.ndarray, "rows pool"]
    worth: Float64[np.ndarray, "rows pool"]

    @classmethod
    def of(cls, question: Question, layout: Layout, kept: Kept, selection: Selection) -> Pooled:
        """Return the pools of all rows of a question."""
        position = _positions(np.bincount(kept.row, minlength=len(question)))
        own, row, cost = question.levels, kept.row, None
        if selection.cost:
            cost = total_costs(layout, question.cells[row], known(kept.cells), own[row], kept.levels)
        worth = np.zeros(position.shape)
        worth[position >= 0] = selection.worth(kept.levels, own, row, question.desired, cost)
        return cls(kept, position, worth)

    @property
    def levels(self) -> Levels:
        """The candidates by level: rows × pool × features."""
        return self.kept.levels[self.position]

    def picked(self, order: Int64[np.ndarray, "rows size"]) -> Kept:
        """Return those at some places of the pools, row by row."""
        return self.kept.take(self.position[np.arange(len(order))[:, None], order][order >= 0])


def _positions(counts: Int64[np.ndarray, " rows"]) -> Int64[np.ndarray, "rows pool"]:
    """Return where the candidates of each row stand among all, given how many it has; −1 behind the last of a row."""
    size = int(counts.max(initial=0))
    if size and (counts == size).all():
        return np.arange(len(counts) * size).reshape(-1, size)
    place, start = np.arange(max(size, 1)), np.cumsum(counts) - counts
    return np.where(place < counts[:, None], start[:, None] + place, -1)
