"""How alike a row and someone drawn from a tree law are expected to be.

Likeness is a product over the features, so the expectation is a sum over the tree from the leaves inwards. What a
branch adds depends on the levels of its own features alone: branches of few combinations are summed beforehand, once
for a law, and looked up. What is left to sum for each row is the trunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from jaxtyping import Float64, Int16, Int64

from l2c.core.types import Levels

TABLED, ALL_TABLED = 1 << 16, 1 << 20
"""Numbers at the most in a branch that is summed beforehand, and in all of them about."""

LIFT = 256
"""Products below 2**−LIFT are multiplied by 2**LIFT, which rounds nothing: hundreds of features would vanish."""

BLOCK = 1 << 13
"""Rows summed at once, so that what is summed stays in a processor's cache."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Trunk:
    """What is left to sum for each row; nodes stand before those they hang on, the root last."""

    nodes: tuple[Node, ...]

    def log_likeness(self, levels: Levels) -> Float64[np.ndarray, " rows"]:
        """Return the logarithm of how alike each row and someone drawn from the law are expected to be."""
        starts = range(0, max(len(levels), 1), BLOCK)
        return np.concatenate([self._log_likeness(levels[start : start + BLOCK]) for start in starts])

    def _log_likeness(self, levels: Levels) -> Float64[np.ndarray, " rows"]:
        columns, lifts = np.ascontiguousarray(levels.T), np.zeros(len(levels))
        beliefs = [node.branches[0].of(columns) for node in self.nodes]
        for belief, node in zip(beliefs, self.nodes, strict=True):
            for branch in node.branches[1:]:
                _take_in(belief, branch.of(columns), lifts)
            told = _weighted(node.table, belief)
            if node.above >= 0:
                _take_in(beliefs[node.above], told, lifts)
        return np.asarray(np.log(told[0]) - lifts * (LIFT * log(2)))


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
