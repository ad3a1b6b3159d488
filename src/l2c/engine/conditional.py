"""Exact draws of the changed features given the kept ones, under the reference law.

The law of a proposal is a product along the tree: each feature's own weights (what is allowed, what the generator
wants) times the tables of the reference law raised to the dial. Messages from the leaves to the root sum out what
is below; draws from the root to the leaves follow. At dial 0 the tables are flat and the features independent; at
dial 1 the reference law counts in full.

Sums run in a fixed order over levels, never through a matrix product, whose rounding depends on the batch.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float32, UInt32

from l2c.core.layout import Layout
from l2c.core.types import Levels
from l2c.engine.reference import ReferenceLaw
from l2c.engine.sample import BITS


def draw_given_kept(
    layout: Layout,
    law: ReferenceLaw,
    dial: float,
    weights: Float32[np.ndarray, "draws width"],
    own: Levels,
    selected: Bool[np.ndarray, "draws features"],
    uniforms: UInt32[np.ndarray, "draws features"],
) -> Levels:
    """Return one draw for each line: kept features as they are, selected ones from the law given the kept.

    Parameters
    ----------
    weights
        Each level's own weight, above 0 for at least the row's own level.
    own
        The levels to keep.
    selected
        Which features are drawn.
    uniforms
        A uniform 32-bit integer for each feature.
    """
    tables = [(table**dial).astype(np.float32) for table in law.tables]
    beliefs = _gather(layout, law, tables, weights, own, selected)
    shifted = uniforms >> np.uint32(32 - BITS)
    levels = own.copy()
    for i in law.order:
        parent = law.parent[i]
        given = tables[i][levels[:, parent]] if parent >= 0 else tables[i]
        drawn = _fall(beliefs[i] * given, shifted[:, i])
        levels[:, i] = np.where(selected[:, i], drawn, own[:, i])
    return levels


def _gather(
    layout: Layout,
    law: ReferenceLaw,
    tables: list[Float32[np.ndarray, "parent_levels levels"]],
    weights: Float32[np.ndarray, "draws width"],
    own: Levels,
    selected: Bool[np.ndarray, "draws features"],
) -> list[Float32[np.ndarray, "draws levels"]]:
    """Return, for each feature, the weight of each level with everything below it in the tree summed out."""
    beliefs: list[Float32[np.ndarray, "draws levels"]] = [
        weights[:, start : start + size].copy() for start, size in zip(layout.offsets, layout.sizes, strict=True)
    ]
    for i in law.order[:0:-1]:
        message = tables[i].T[own[:, i]]
        moving = np.flatnonzero(selected[:, i])
        if len(moving):
            message[moving] = _summed_out(beliefs[i][moving], tables[i])
        above = beliefs[law.parent[i]]
        above *= message
        above /= above.max(axis=1, keepdims=True)
    return beliefs


def _summed_out(
    belief: Float32[np.ndarray, "draws levels"], table: Float32[np.ndarray, "parent_levels levels"]
) -> Float32[np.ndarray, "draws parent_levels"]:
    """Return Σ_j belief_j · table_kj for each level k of the parent."""
    total = np.zeros((len(belief), len(table)), dtype=np.float32)
    for level in range(table.shape[1]):
        total += belief[:, level, None] * table[None, :, level]
    return total


def _fall(mass: Float32[np.ndarray, "draws levels"], uniform: UInt32[np.ndarray, " draws"]) -> np.ndarray:
    """Return the level that each uniform integer of `BITS` bits falls on."""
    running = np.cumsum(mass, axis=1, dtype=np.float64)
    cdf = np.rint(running / running[:, -1:] * 2.0**BITS).astype(np.uint32)
    return (uniform[:, None] >= cdf[:, :-1]).sum(axis=1)
