"""Exact draws of the changed features given the kept ones, under the reference law.

The law of a proposal is a product along the tree: each feature's own weights (what is allowed, what the generator
wants) times the tables of the reference law raised to the dial. Messages from the leaves to the root sum out what
is below; draws from the root to the leaves follow. At dial 0 the tables are flat and the features independent; at
dial 1 the reference law counts in full.

Sums run in a fixed order over levels, never through a matrix product, whose rounding depends on the batch. Arrays are
levels × lines, a line being one draw, so that every step is one sweep over lines; only lines that move are swept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64, UInt32

from l2c.core.layout import Layout
from l2c.core.types import Levels
from l2c.engine.bind import fall
from l2c.engine.reference import ReferenceLaw

VANISHING = 1e-100
"""Beliefs below this are scaled up, so that a product over many children does not become 0."""

Table = Float64[np.ndarray, "parent_levels levels"]
Belief = Float64[np.ndarray, "levels lines"]


def draw_given_kept(
    layout: Layout,
    law: ReferenceLaw,
    exponent: float,
    weights: Float64[np.ndarray, "rows width"],
    own: Levels,
    row: Int64[np.ndarray, " lines"],
    selected: Bool[np.ndarray, "lines features"],
    uniforms: UInt32[np.ndarray, "lines features"],
) -> Levels:
    """Return one draw for each line: kept features as they are, selected ones from the law given the kept.

    Parameters
    ----------
    exponent
        The power of the law's tables.
    weights, own
        For each row, each level's own weight (above 0 for at least one), and the levels to keep.
    row
        The row of each line.
    selected
        Which features are drawn.
    uniforms
        A uniform 32-bit integer for each feature.
    """
    tables = [table**exponent for table in law.tables]
    moving = [np.flatnonzero(chosen) for chosen in selected.T]
    levels = own[row]
    beliefs = _Gathering(layout, law, tables, selected, moving, levels).beliefs(weights, row)
    for i in law.order:
        lines, parent = moving[i], law.parent[i]
        if len(lines):
            given = tables[i].T[:, levels[lines, parent]] if parent >= 0 else tables[i].T
            levels[lines, i] = fall(beliefs[i] * given, uniforms[lines, i])
    return levels


@dataclass(frozen=True, slots=True, eq=False)
class _Gathering:
    """The pass from the leaves to the root."""

    layout: Layout
    law: ReferenceLaw
    tables: list[Table]
    selected: Bool[np.ndarray, "lines features"]
    moving: list[Int64[np.ndarray, " moving"]]
    own: Levels

    def beliefs(self, weights: Float64[np.ndarray, "rows width"], row: Int64[np.ndarray, " lines"]) -> list[Belief]:
        """Return, for each feature and the lines in which it moves, each level with all below it summed out."""
        by_level = np.ascontiguousarray(weights.T)
        beliefs = [
            by_level[start : start + size][:, row[lines]]
            for start, size, lines in zip(self.layout.offsets, self.layout.sizes, self.moving, strict=True)
        ]
        for i in self.law.order[:0:-1]:
            parent = self.law.parent[i]
            if len(self.moving[parent]):
                beliefs[parent] *= self._message(i, self.moving[parent], beliefs[i])
                top = beliefs[parent].max(axis=0)
                beliefs[parent] /= np.where(top < VANISHING, top, 1.0)
        return beliefs

    def _message(self, child: int, lines: Int64[np.ndarray, " lines"], belief: Belief) -> Belief:
        """Return what a child says of each level of its parent, in the lines in which the parent moves."""
        message = self.tables[child][:, self.own[lines, child]]
        both = np.flatnonzero(self.selected[lines, child])
        if len(both):
            place = np.searchsorted(self.moving[child], lines[both])
            message[:, both] = _summed_out(belief[:, place], self.tables[child])
        return message


def _summed_out(belief: Belief, table: Table) -> Belief:
    """Return Σ_j belief_j · table_kj for each level k of the parent."""
    total = np.zeros((len(table), belief.shape[1]))
    for k, weights in enumerate(table):
        for j, weight in enumerate(weights):
            total[k] += belief[j] * weight
    return total


def full_conditional(law: ReferenceLaw, exponent: float, feature: int, weights: Belief, levels: Levels) -> Belief:
    """Return the mass of each level of a feature given all the others of its line: its own weights, its neighbours'.

    It is known up to a factor, which keeps it from vanishing where neighbours are many.

    Parameters
    ----------
    weights
        The feature's own weight of each level: levels × lines.
    levels
        The lines by level.
    """
    mass = weights.copy()
    parent = law.parent[feature]
    table = law.tables[feature] ** exponent
    mass *= table.T[:, levels[:, parent]] if parent >= 0 else table.T
    for child, above in enumerate(law.parent):
        if above == feature:
            mass *= (law.tables[child] ** exponent)[:, levels[:, child]]
            mass /= mass.max(axis=0)
    return mass
