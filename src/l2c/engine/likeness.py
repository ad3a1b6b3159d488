"""How alike a row and someone drawn from a tree law are expected to be.

Likeness is a product over the features, so the expectation is a sum over the tree from the leaves inwards. What a
branch adds depends on the levels of its own features alone: branches of few combinations are summed beforehand, once
for a law, and looked up. What is left to sum for each row is the trunk.

Compiled loops and numpy take every sum and product in the same order, and numpy the logarithm in the end, so that not
even rounding tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int16, Int64

from l2c.core.compiled import Compiled, Inlined, compiles
from l2c.core.types import Levels

TABLED, ALL_TABLED = 1 << 16, 1 << 20
"""Numbers at the most in a branch that is summed beforehand, and in all of them about."""

LIFT = 256
"""Products below 2**−LIFT are multiplied by 2**LIFT, which rounds nothing: hundreds of features would vanish."""

BLOCK = 1 << 13
"""Rows that numpy sums at once, so that what is summed stays in a processor's cache."""

TOGETHER = 256
"""Rows that a compiled loop sums at once: so many fit in the nearest cache, and loops are long."""

Table = Float64[np.ndarray, "parent_levels levels"]
Told = Float64[np.ndarray, "levels rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """What some features tell of the levels of one, for every combination of theirs.

    Parameters
    ----------
    strides
        How far a level of each feature moves among the combinations.
    """

    features: tuple[int, ...]
    strides: tuple[int, ...]
    told: Float64[np.ndarray, "levels combinations"]

    def times(self, other: Branch) -> Branch:
        """Return what both tell together."""
        combinations = other.told.shape[1]
        told = self.told[:, :, None] * other.told[:, None, :]
        strides = tuple(stride * combinations for stride in self.strides) + other.strides
        return Branch(self.features + other.features, strides, told.reshape(len(told), -1))

    def of(self, columns: Int16[np.ndarray, "features rows"]) -> Told:
        """Return what is told by the levels of each row."""
        place = np.zeros(columns.shape[1], dtype=np.int64)
        for feature, stride in zip(self.features, self.strides, strict=True):
            place += columns[feature] * np.int64(stride)
        return self.told.take(place, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A feature of the trunk: its branches, its table given the one it hangs on, and the place of that one."""

    branches: tuple[Branch, ...]
    table: Table
    above: int


class Flat(NamedTuple):
    """A trunk as numbers alone: what its nodes have follows one another, node by node and branch by branch.

    Where the part of each begins is told by what ends in `_at`, and where the last one ends.

    Parameters
    ----------
    sizes, wide, above
        Of each node, how many levels it has, how many the one it hangs on has, and the place of that one.
    told
        What branches tell, by combination and then by level: what is looked up for a row is one stretch.
    strides
        How far a level of each feature moves in it.
    """

    sizes: Int64[np.ndarray, " nodes"]
    wide: Int64[np.ndarray, " nodes"]
    above: Int64[np.ndarray, " nodes"]
    tables: Float64[np.ndarray, " weights"]
    told: Float64[np.ndarray, " numbers"]
    features: Int64[np.ndarray, " features"]
    strides: Int64[np.ndarray, " features"]
    belief_at: Int64[np.ndarray, " nodes_and_one"]
    table_at: Int64[np.ndarray, " nodes_and_one"]
    branch_at: Int64[np.ndarray, " nodes_and_one"]
    told_at: Int64[np.ndarray, " branches_and_one"]
    feature_at: Int64[np.ndarray, " branches_and_one"]


@dataclass(frozen=True, slots=True, eq=False)
class Trunk:
    """What is left to sum for each row; nodes stand before those they hang on, the root last."""

    nodes: tuple[Node, ...]
    flat: Flat = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "flat", _laid_flat(self.nodes))

    def log_likeness(
        self, levels: Levels, which: Int64[np.ndarray, " some"] | None = None
    ) -> Float64[np.ndarray, " some"]:
        """Return the logarithm of how alike each row, or each of some, and someone drawn from the law should be."""
        which = np.arange(len(levels)) if which is None else which
        if compiles():
            likeness, lifts = likeness_of(levels, which, self.flat)
            return _lowered(likeness, lifts)
        starts = range(0, max(len(which), 1), BLOCK)
        return np.concatenate([self._log_likeness(levels[which[start : start + BLOCK]]) for start in starts])

    def _log_likeness(self, levels: Levels) -> Float64[np.ndarray, " rows"]:
        columns, lifts = np.ascontiguousarray(levels.T), np.zeros(len(levels))
        beliefs = [node.branches[0].of(columns) for node in self.nodes]
        for belief, node in zip(beliefs, self.nodes, strict=True):
            for branch in node.branches[1:]:
                _take_in(belief, branch.of(columns), lifts)
            told = _weighted(node.table, belief)
            if node.above >= 0:
                _take_in(beliefs[node.above], told, lifts)
        return _lowered(told[0], lifts)


def _lowered(
    likeness: Float64[np.ndarray, " rows"], lifts: Float64[np.ndarray, " rows"]
) -> Float64[np.ndarray, " rows"]:
    """Return the logarithm of what was lifted so many times, in place of it."""
    logs = np.log(likeness, out=likeness)
    logs -= np.multiply(lifts, LIFT * log(2), out=lifts)
    return logs


def _take_in(belief: Told, told: Told, lifts: Float64[np.ndarray, " rows"]) -> None:
    """Multiply, in place, what is believed of the levels of a feature by what is told of them."""
    belief *= told
    low = belief.max(axis=0) < 2.0**-LIFT
    if low.any():
        belief[:, low] *= 2.0**LIFT
        lifts[low] += 1


def _weighted(table: Table, values: Told) -> Told:
    """Return the matrix product, summed in a fixed order: a row's bits must not depend on how many others there are."""
    total = table[:, :1] * values[0]
    for weight, value in zip(table.T[1:], values[1:], strict=True):
        total += weight[:, None] * value
    return total


def _laid_flat(nodes: tuple[Node, ...]) -> Flat:
    branches = [branch for node in nodes for branch in node.branches]
    features = [feature for branch in branches for feature in branch.features]
    strides = [stride * len(branch.told) for branch in branches for stride in branch.strides]
    sizes, wide = [node.table.shape[1] for node in nodes], [node.table.shape[0] for node in nodes]
    return Flat(
        np.array(sizes), np.array(wide), np.array([node.above for node in nodes]),
        np.concatenate([node.table.ravel() for node in nodes]),
        np.concatenate([branch.told.T.ravel() for branch in branches]),
        np.array(features), np.array(strides),
        _begins(sizes), _begins(node.table.size for node in nodes), _begins(len(node.branches) for node in nodes),
        _begins(branch.told.size for branch in branches), _begins(len(branch.features) for branch in branches),
    )  # fmt: skip


def _begins(counts: Iterable[int]) -> Int64[np.ndarray, " counts_and_one"]:
    """Return where each of several stretches begins, and where the last ends."""
    return np.cumsum([0, *counts])


@Compiled
def likeness_of(
    levels: Levels, which: Int64[np.ndarray, " some"], trunk: Flat
) -> tuple[Float64[np.ndarray, " some"], Float64[np.ndarray, " some"]]:
    """Return how alike some rows and someone drawn from the law are expected to be, lifted, and how many times."""
    likeness, lifts = np.empty(len(which)), np.zeros(len(which))
    columns = np.empty((levels.shape[1], TOGETHER), np.int16)
    place = np.empty((len(trunk.told_at) - 1, TOGETHER), np.int32)
    beliefs, top = np.empty((trunk.belief_at[-1], TOGETHER)), np.empty(TOGETHER)
    told = np.empty((max(trunk.sizes.max(), trunk.wide.max()), TOGETHER))
    for start in range(0, len(which), TOGETHER):
        some = min(TOGETHER, len(which) - start)
        _lay_out(columns, levels, which, start, some)
        _find_places(place, columns, some, trunk)
        for node in range(len(trunk.sizes)):
            first = trunk.branch_at[node]
            _look_up(beliefs, trunk.belief_at[node], trunk.sizes[node], trunk.told, place, first, some)
        for node in range(len(trunk.sizes)):
            at, size, above = trunk.belief_at[node], trunk.sizes[node], trunk.above[node]
            for branch in range(trunk.branch_at[node] + 1, trunk.branch_at[node + 1]):
                _look_up(told, 0, size, trunk.told, place, branch, some)
                _take_in_some(beliefs, at, size, told, some, top, lifts, start)
            _weigh(told, trunk.wide[node], trunk.tables, trunk.table_at[node], beliefs, at, size, some)
            if above >= 0:
                _take_in_some(beliefs, trunk.belief_at[above], trunk.wide[node], told, some, top, lifts, start)
        likeness[start : start + some] = told[0, :some]
    return likeness, lifts


# Places that cannot be negative are looked up without being tested for it.


@Inlined
def _lay_out(columns: np.ndarray, levels: Levels, which: Int64[np.ndarray, " some"], start: int, some: int) -> None:
    """Write the levels of some rows down feature by feature."""
    for r in range(some):
        row = np.uint64(which[start + r])
        for i in range(len(columns)):
            columns[i, r] = levels[row, i]


@Inlined
def _find_places(place: np.ndarray, columns: np.ndarray, some: int, trunk: Flat) -> None:
    """Find out where what each branch tells of some rows stands; 32 bits count more than a memory holds."""
    for branch in range(len(place)):
        for r in range(some):
            place[branch, r] = np.int32(trunk.told_at[branch])
        for n in range(trunk.feature_at[branch], trunk.feature_at[branch + 1]):
            i, stride = np.uint64(trunk.features[n]), np.int32(trunk.strides[n])
            for r in range(some):
                place[branch, r] += np.int32(columns[i, r]) * stride


@Inlined
def _look_up(to: np.ndarray, at: int, size: int, told: np.ndarray, place: np.ndarray, branch: int, some: int) -> None:
    """Write down, level by level, what a branch tells of some rows."""
    for j in range(size):
        for r in range(some):
            to[at + j, r] = told[np.uint64(place[branch, r] + j)]


@Inlined
def _take_in_some(
    beliefs: np.ndarray, at: int, size: int, told: np.ndarray, some: int, top: np.ndarray, lifts: np.ndarray, start: int
) -> None:
    """Do what `_take_in` does."""
    top[:some] = 0.0
    for j in range(size):
        for r in range(some):
            beliefs[at + j, r] *= told[j, r]
            top[r] = max(top[r], beliefs[at + j, r])
    low = False
    for r in range(some):
        low |= top[r] < 2.0**-LIFT
    if low:
        for r in range(some):
            if top[r] < 2.0**-LIFT:
                lifts[start + r] += 1
                for j in range(size):
                    beliefs[at + j, r] *= 2.0**LIFT


@Inlined
def _weigh(
    told: np.ndarray, wide: int, tables: np.ndarray, start: int, beliefs: np.ndarray, at: int, size: int, some: int
) -> None:
    """Do what `_weighted` does; of two levels at once, for a sum that is written down half as often."""
    for k in range(wide):
        first = start + k * size
        one = tables[first]
        for r in range(some):
            told[k, r] = one * beliefs[at, r]
        for j in range(1, size - 1, 2):
            one, other = tables[first + j], tables[first + j + 1]
            for r in range(some):
                told[k, r] = told[k, r] + one * beliefs[at + j, r] + other * beliefs[at + j + 1, r]
        if size % 2 == 0:
            one = tables[first + size - 1]
            for r in range(some):
                told[k, r] += one * beliefs[at + size - 1, r]


def trunk_of(
    order: Int64[np.ndarray, " features"],
    parent: Int64[np.ndarray, " features"],
    tables: Sequence[Table],
    alike: Sequence[Float64[np.ndarray, "levels levels"]],
) -> Trunk:
    """Return what is left to sum for each row of a tree law.

    Parameters
    ----------
    order, parent
        The features from the root outwards, and the parent of each, −1 for the root.
    tables
        For each feature, the probability of its levels given each level of its parent.
    alike
        For each feature, how alike any two of its levels are.
    """
    branches = [[Branch((i,), (1,), one)] for i, one in enumerate(alike)]
    room, place = min(TABLED, ALL_TABLED // len(order)), dict[int, int]()
    bare = np.ones(len(order), dtype=bool)
    for i in order[::-1].tolist():
        branches[i] = _together(branches[i], room)
        whole, above = branches[i][0], int(parent[i])
        small = len(branches[i]) == 1 and len(tables[i]) * whole.told.shape[1] <= room
        if above >= 0 and bare[i] and small:
            branches[above].append(Branch(whole.features, whole.strides, _weighted(tables[i], whole.told)))
        else:
            place[i] = len(place)
            bare[above] = False
    return Trunk(tuple(Node(tuple(branches[i]), tables[i], place.get(int(parent[i]), -1)) for i in place))


def _together(branches: list[Branch], room: int) -> list[Branch]:
    """Return branches of one feature, multiplied as far as there is room for it, the smallest first."""
    found: list[Branch] = []
    for branch in sorted(branches, key=lambda one: one.told.shape[1]):
        if found and found[-1].told.size * branch.told.shape[1] <= room:
            found[-1] = found[-1].times(branch)
        else:
            found.append(branch)
    return found
