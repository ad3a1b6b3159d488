"""Which counterfactuals of a pool make the set that is released, and in which order they are read.

A set is scored by S + λ·D − μ·U: the mean sparsity, the mean pairwise distance, and the mean unlikeliness under the
reference law. With λ = (S / D)² the first two rise together with their harmonic mean. A set is built greedily and
then improved by swaps: greedy choice alone is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int32, Int64

from l2c.core.compiled import compiles
from l2c.core.costs import changes_of
from l2c.core.types import Levels
from l2c.release.choosing import ROOM, best_sets, best_sets_at_once


@dataclass(frozen=True, slots=True)
class Selection:
    """How a set is chosen from a pool of valid counterfactuals.

    Parameters
    ----------
    sparsity, distance
        The weights of the share of features kept, and of the mean pairwise distance (λ).
    unlikeliness
        The weight of the unlikeliness (μ).
    cost
        The weight of what a change costs.
    unlikely
        From levels and desired classes to how unlikely each counterfactual is.
    """

    sparsity: float = 1.0
    distance: float = 0.0
    unlikeliness: float = 0.0
    cost: float = 0.0
    unlikely: Callable[[Levels, Int64[np.ndarray, " n"]], Float64[np.ndarray, " n"]] | None = None

    def worth(
        self,
        levels: Levels,
        own: Levels,
        row: Int64[np.ndarray, " n"],
        desired: Int64[np.ndarray, " rows"],
        cost: Float64[np.ndarray, " n"] | None,
    ) -> Float64[np.ndarray, " n"]:
        """Return what each counterfactual adds to a set by itself, given the rows as they are and which it is for."""
        kept = levels.shape[1] - changes_of(own, row, levels)
        worth = self.sparsity * (kept / levels.shape[1])
        if cost is not None:
            worth -= self.cost * cost
        if self.unlikely is not None and self.unlikeliness:
            worth -= self.unlikeliness * self.unlikely(levels, desired[row])
        return worth


AS_FOUND = Selection()
"""Nothing to choose by: who asks for no more than a set takes it as it was found."""


def choose(
    levels: Levels,
    position: Int64[np.ndarray, "rows pool"],
    worth: Float64[np.ndarray, "rows pool"],
    size: int,
    distance: float,
) -> Int64[np.ndarray, "rows size"]:
    """Return the places in the pool of each row's set, the best to read first; −1 where a pool is too small.

    Parameters
    ----------
    levels
        The candidates of all rows.
    position
        Where those of each row's pool stand among them, −1 where a place of the pool holds none.
    worth
        What a candidate adds by itself.
    size
        How many to choose.
    distance
        λ, the weight of the mean pairwise distance.
    """
    present, features = position >= 0, levels.shape[1]
    if not distance:
        return _worthiest(present, worth, size)
    gains, pull = in_whole_numbers(present, worth, size, distance, features)
    kind = np.empty(0, dtype=np.uint8 if features < 256 and levels.max(initial=0) < 256 else np.int32)
    if compiles():
        return best_sets(levels, position, gains, pull, size, kind)
    pool = np.ascontiguousarray(levels[position].transpose(0, 2, 1), dtype=kind.dtype)
    return best_sets_at_once(pool, present, gains, pull, size)


def _worthiest(
    present: Bool[np.ndarray, "rows pool"], worth: Float64[np.ndarray, "rows pool"], size: int
) -> Int64[np.ndarray, "rows size"]:
    """Return the candidates that are worth most, in order: all there is to choose where distance does not count."""
    order = np.argsort(np.where(present, -worth, np.inf), axis=1, kind="stable")[:, :size]
    order = np.where(np.take_along_axis(present, order, axis=1), order, -1)
    return np.pad(order, ((0, 0), (0, size - order.shape[1])), constant_values=-1)


def in_whole_numbers(
    present: Bool[np.ndarray, "rows pool"],
    worth: Float64[np.ndarray, "rows pool"],
    size: int,
    distance: float,
    features: int,
) -> tuple[Int32[np.ndarray, "rows pool"], Int32[np.ndarray, " rows"]]:
    """Return each candidate's worth, and what a feature that differs from a member adds, in steps of a row's own size.

    The steps are a power of two, as small as 32 bits allow: of the worth less than a millionth is lost.
    """
    step = 2 * distance / (max(size - 1, 1) * features)
    worth = np.where(present, worth, 0.0)
    largest = np.abs(worth).max(axis=1, initial=0.0) + step * size * features
    _, exponent = np.frexp(largest / ROOM)
    scale = np.ldexp(1.0, -exponent)
    return np.rint(worth * scale[:, None]).astype(np.int32), np.rint(step * scale).astype(np.int32)


def reading_order(
    features: np.ndarray, worth: np.ndarray, chosen: np.ndarray, distance: float
) -> Int64[np.ndarray, "rows size"]:
    """Return each set in the order to read it: the best first, then each the best beside those before it."""
    rows = np.arange(len(chosen))[:, None]
    place = np.maximum(chosen, 0)
    members, own = features[:, rows, place], worth[rows, place]
    present = chosen >= 0
    free, apart = present.copy(), np.zeros(own.shape)
    order = np.empty_like(chosen)
    for rank in range(chosen.shape[1]):
        gain = np.where(free, own + 2 * distance * apart / max(rank, 1), -np.inf)
        best = gain.argmax(axis=1)
        order[:, rank] = np.where(free[rows[:, 0], best], chosen[rows[:, 0], best], -1)
        free[rows[:, 0], best] = False
        apart += distances_to(members, best)
    return order


def distances_to(features: np.ndarray, place: np.ndarray) -> Float64[np.ndarray, "rows pool"]:
    """Return the share of features in which each candidate differs from the one at a place of its row's pool."""
    rows = np.arange(features.shape[1])
    differing = np.zeros(features.shape[1:], dtype=np.uint8 if len(features) < 256 else np.uint16)
    for level in features:
        differing += level != level[rows, place][:, None]
    return differing / len(features)
