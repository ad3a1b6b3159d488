"""Hard draws of level indices, by inverse distribution function.

The generator's draw z̃ ~ Cat(p) and the selector's s ~ Bernoulli(π) enter a row only through the mixture
z̃ = (1 − s) z + s z̃, whose law for one feature is P_ij = (1 − π_i) z_ij + π_i p_ij. So one uniform integer per
feature is enough. Distribution functions are integers: the same on any machine and in any batch.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64, UInt32

from l2c.core.compiled import Compiled, Inlined, compiles
from l2c.core.layout import Layout
from l2c.core.types import Levels

BITS = 31
"""Uniform integers have this many bits, so that the upper end, 2**BITS, still fits in 32."""


def mixed_law(
    layout: Layout,
    local: Float64[np.ndarray, "rows width"],
    selection: Float64[np.ndarray, "rows features"],
    levels: Levels,
) -> Float64[np.ndarray, "rows width"]:
    """Return P, the law of each feature of a proposal: its own level unless selected, else a draw from p."""
    if compiles():
        return _mixed(local, selection, levels, layout.offsets, layout.sizes)
    law = np.repeat(selection, layout.sizes, axis=1) * local
    own = levels + layout.offsets
    np.put_along_axis(law, own, np.take_along_axis(law, own, axis=1) + (1 - selection), axis=1)
    return law


@Compiled
def _mixed(
    local: Float64[np.ndarray, "rows width"],
    selection: Float64[np.ndarray, "rows features"],
    levels: Levels,
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> Float64[np.ndarray, "rows width"]:
    law = np.empty(local.shape)
    for row in range(len(local)):
        _mix(law[row], local, selection, levels, row, offsets, sizes)
    return law


@Inlined
def _mix(
    law: Float64[np.ndarray, " width"],
    local: Float64[np.ndarray, "rows width"],
    selection: Float64[np.ndarray, "rows features"],
    levels: Levels,
    row: int,
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> None:
    """Write down the law of one row."""
    # A place that cannot be negative is looked up without being tested for it.
    for i in range(len(sizes)):
        share = selection[row, i]
        for at in range(offsets[i], offsets[i] + sizes[i]):
            law[np.uint64(at)] = share * local[row, np.uint64(at)]
        law[np.uint64(offsets[i] + levels[row, i])] += 1 - share


def integer_cdf(layout: Layout, law: Float64[np.ndarray, "rows width"]) -> UInt32[np.ndarray, "rows width"]:
    """Return the distribution function of each feature on the integers 0 … 2**BITS.

    A level of probability zero has an empty interval: it cannot be drawn.
    """
    if compiles():
        return _summed_up(law, layout.offsets, layout.sizes)
    cdf = np.empty(law.shape, dtype=np.uint32)
    for start, size in zip(layout.offsets, layout.sizes, strict=True):
        running = np.cumsum(law[:, start : start + size], axis=1)
        cdf[:, start : start + size] = np.rint(running / running[:, -1:] * 2.0**BITS)
    return cdf


@Compiled
def _summed_up(
    law: Float64[np.ndarray, "rows width"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> UInt32[np.ndarray, "rows width"]:
    cdf, running = np.empty(law.shape, np.uint32), np.empty(sizes.max())
    for row in range(len(law)):
        _sum_up(cdf[row], law[row], running, offsets, sizes)
    return cdf


@Inlined
def _sum_up(
    cdf: UInt32[np.ndarray, " width"],
    law: Float64[np.ndarray, " width"],
    running: Float64[np.ndarray, " largest"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> None:
    """Write down the distribution functions of one row; `running` is working space."""
    for i in range(len(sizes)):
        total = 0.0
        for j in range(sizes[i]):
            total += law[np.uint64(offsets[i] + j)]
            running[j] = total
        for j in range(sizes[i]):
            cdf[np.uint64(offsets[i] + j)] = np.uint32(np.rint(running[j] / total * 2.0**BITS))


def drawn_from(
    layout: Layout,
    local: Float64[np.ndarray, "rows width"],
    selection: Float64[np.ndarray, "rows features"],
    levels: Levels,
    rows: Int64[np.ndarray, " some"],
) -> UInt32[np.ndarray, "some width"]:
    """Return the distribution functions of the mixed law, for some of the rows: both of the above in one pass."""
    if compiles():
        return _mixed_and_summed_up(local, selection, levels, rows, layout.offsets, layout.sizes)
    return integer_cdf(layout, mixed_law(layout, local[rows], selection[rows], levels[rows]))


@Compiled
def _mixed_and_summed_up(
    local: Float64[np.ndarray, "rows width"],
    selection: Float64[np.ndarray, "rows features"],
    levels: Levels,
    rows: Int64[np.ndarray, " some"],
    offsets: Int64[np.ndarray, " features"],
    sizes: Int64[np.ndarray, " features"],
) -> UInt32[np.ndarray, "some width"]:
    width = local.shape[1]
    cdf, law, running = np.empty((len(rows), width), np.uint32), np.empty(width), np.empty(sizes.max())
    for n in range(len(rows)):
        _mix(law, local, selection, levels, rows[n], offsets, sizes)
        _sum_up(cdf[n], law, running, offsets, sizes)
    return cdf


def draw_levels(
    layout: Layout,
    cdf: UInt32[np.ndarray, "rows width"],
    uniforms: UInt32[np.ndarray, "rows draws features"],
) -> Levels:
    """Return the level that each uniform 32-bit integer falls on."""
    shifted = uniforms >> np.uint32(32 - BITS)
    levels = np.zeros(shifted.shape, dtype=np.int16)
    for i, (start, size) in enumerate(zip(layout.offsets, layout.sizes, strict=True)):
        for edge in cdf[:, start : start + size - 1].T:
            levels[:, :, i] += shifted[:, :, i] >= edge[:, None]
    return levels
