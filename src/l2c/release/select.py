"""Which counterfactuals of a pool make the set that is released, and in which order they are read.

A set is scored by S + λ·D − μ·U: the mean sparsity, the mean pairwise distance, and the mean unlikeliness under the
reference law. With λ = (S / D)² the first two rise together with their harmonic mean. A set is built greedily and
then improved by swaps: greedy choice alone is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from l2c.core.types import Levels

SWAP_PASSES = 2


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
        self, levels: Levels, own: Levels, desired: Int64[np.ndarray, " n"], cost: Float64[np.ndarray, " n"]
    ) -> Float64[np.ndarray, " n"]:
        """Return what each counterfactual adds to a set by itself."""
        worth = self.sparsity * (levels == own).mean(axis=1) - self.cost * cost
        if self.unlikely is not None and self.unlikeliness:
            worth = worth - self.unlikeliness * self.unlikely(levels, desired)
        return worth


def choose(
    pool: Levels,
    present: Bool[np.ndarray, "rows pool"],
    worth: Float64[np.ndarray, "rows pool"],
    size: int,
    distance: float,
) -> Int64[np.ndarray, "rows size"]:
    """Return the positions in the pool of each row's set, the best to read first; −1 where a pool is too small.

    Parameters
    ----------
    pool
        Candidates by level: rows × pool × features.
    present
        Which places of the pool hold a candidate.
    worth
        What a candidate adds by itself.
    size
        How many to choose.
    distance
        λ, the weight of the mean pairwise distance.
    """
    features = np.ascontiguousarray(np.moveaxis(pool, 2, 0))
    chosen = _greedy(features, present, worth, size, distance / max(size - 1, 1))
    if size < pool.shape[1]:
        _swap(features, present, worth, chosen, distance / max(size - 1, 1))
    return reading_order(features, worth, chosen, distance)


def _greedy(
    features: np.ndarray, present: np.ndarray, worth: np.ndarray, size: int, pull: float
) -> Int64[np.ndarray, "rows size"]:
    """Return a set grown one by one, each the candidate that adds most."""
    rows = np.arange(len(worth))
    free, apart = present.copy(), np.zeros(worth.shape)
    chosen = np.full((len(worth), size), -1)
    for place in range(size):
        gain = np.where(free, worth + 2 * pull * apart, -np.inf)
        best = gain.argmax(axis=1)
        found = free[rows, best]
        chosen[found, place] = best[found]
        free[rows, best] = False
        apart += np.where(found[:, None], distances_to(features, best), 0.0)
    return chosen


def _swap(features: np.ndarray, present: np.ndarray, worth: np.ndarray, chosen: np.ndarray, pull: float) -> None:
    """Improve sets in place: each member gives way to the candidate that would add most in its stead."""
    rows = np.arange(len(worth))
    full = (chosen >= 0).all(axis=1)
    free, apart = present.copy(), np.zeros(worth.shape)
    for place in range(chosen.shape[1]):
        free[rows[full], chosen[full, place]] = False
        apart += distances_to(features, chosen[:, place])
    for _ in range(SWAP_PASSES):
        before = chosen.copy()
        for place in range(chosen.shape[1]):
            old = chosen[:, place]
            rest = apart - distances_to(features, old)
            gain = worth + 2 * pull * rest
            best = np.where(free, gain, -np.inf).argmax(axis=1)
            better = full & free[rows, best] & (gain[rows, best] > gain[rows, old] + 1e-12)
            free[rows[better], old[better]] = True
            free[rows[better], best[better]] = False
            new = np.where(better, best, old)
            chosen[:, place] = new
            apart = np.where(better[:, None], rest + distances_to(features, new), apart)
        if (before == chosen).all():
            break


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
