"""Rules between features while drawing: an effect is drawn after its causes, from what they leave it.

A draw that leaves an effect where its causes forbid it is drawn again from the same law, restricted to what they
allow. For a draw that obeys nothing changes, and one that does not falls back into the allowed part in proportion: so
the effect follows its law given its causes, exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float64, Int64, UInt32

from l2c.core.rules import Bond
from l2c.core.types import Levels
from l2c.engine.sample import BITS

Masses = Callable[[int, Int64[np.ndarray, " lines"]], Float64[np.ndarray, "levels lines"]]
"""From a feature and some lines to the mass of each level there, given the line's other features."""


def bind(
    bonds: tuple[Bond, ...],
    levels: Levels,
    own: Levels,
    uniforms: UInt32[np.ndarray, "lines bonds"],
    masses: Masses,
    allowed: Masses,
) -> None:
    """Redraw, in place, the effects that their causes forbid.

    Parameters
    ----------
    levels, own
        Draws and the rows they are for: lines × features.
    uniforms
        A uniform 32-bit integer for each effect.
    masses, allowed
        The law of a feature, and which of its levels are open at all: taken evenly where the law has no mass left.
    """
    for place, bond in enumerate(bonds):
        now, was = levels[:, bond.effect], own[:, bond.effect]
        may = bond.may_go(levels > own)
        wrong = np.flatnonzero(~_goes(may, now, was))
        if not len(wrong):
            continue
        mass = masses(bond.effect, wrong)
        level = np.arange(len(mass))[:, None]
        fits = _goes(tuple(part[wrong] for part in may), level, was[wrong][None, :])
        mass = np.where(fits, mass, 0.0)
        empty = mass.sum(axis=0) <= 0
        if empty.any():
            mass[:, empty] = np.where(fits[:, empty], allowed(bond.effect, wrong[empty]), 0.0)
        drawn = fall(mass, uniforms[wrong, place])
        levels[wrong, bond.effect] = np.where(mass.sum(axis=0) > 0, drawn, now[wrong])


def _goes(may: tuple[np.ndarray, ...], now: np.ndarray, was: np.ndarray) -> Bool[np.ndarray, ...]:
    """Return whether a level is on a side of the own one where it may be."""
    below, same, above = may
    return np.where(now < was, below, np.where(now == was, same, above))


def take_back(
    bonds: tuple[Bond, ...],
    levels: Levels,
    own: Levels,
    most: Int64[np.ndarray, " lines"],
    may_stay: Callable[[Int64[np.ndarray, " lines"]], Bool[np.ndarray, "lines features"]],
) -> None:
    """Undo changes, in place, where effects that had to follow have made more than `most`.

    Changes that no rule speaks of are undone, the last first. Where those of causes and effects alone are too many,
    these are: if nothing rises, nothing has to follow.

    Parameters
    ----------
    may_stay
        From some lines to which of their features may be as they were.
    """
    over = np.flatnonzero((levels != own).sum(axis=1) > most)
    if not len(over):
        return
    tied = np.zeros(levels.shape[1], dtype=bool)
    tied[[feature for bond in bonds for feature in (bond.effect, *(cause for cause, _ in bond.causes))]] = True
    changed, may = levels[over] != own[over], may_stay(over)
    undone = changed & may & tied & ((changed & tied).sum(axis=1) > most[over])[:, None]
    excess = (changed & ~undone).sum(axis=1) - most[over]
    other = changed & may & ~tied
    undone |= other & (np.cumsum(other[:, ::-1], axis=1)[:, ::-1] <= excess[:, None])
    levels[over] = np.where(undone, own[over], levels[over])


def fall(
    mass: Float64[np.ndarray, "levels lines"], uniform: UInt32[np.ndarray, " lines"]
) -> Int64[np.ndarray, " lines"]:
    """Return the level that each uniform integer falls on; one without mass is passed over."""
    threshold = (uniform >> np.uint32(32 - BITS)) * 2.0**-BITS
    # The last running sum, and not another sum of the same numbers, is the total: it is reached exactly.
    running = np.cumsum(mass, axis=0)
    threshold = threshold * running[-1]
    level = np.zeros(len(uniform), dtype=np.int64)
    for edge in running[:-1]:
        level += threshold >= edge
    return level
