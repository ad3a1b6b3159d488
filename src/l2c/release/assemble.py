"""Sets in which every class keeps a privacy policy, chosen from a pool so that they are sparse, diverse and likely.

A class enters a set with its *core*: as few of its members as keep the policy, k rows with l values of every sensitive
feature. Once it is in, any other member of it may follow by itself. A set is grown greedily by cores and followers, and
then improved by swaps that keep every class whole: a member for another of its class, a class for another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from l2c.core.types import Levels, Mask
from l2c.release.select import distances_to, reading_order

SWAP_PASSES = 2

PerPlace = Int64[np.ndarray, "rows pool"]


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """The candidates of a batch of rows by their classes.

    Parameters
    ----------
    of
        The class of each candidate among those of its row, from 0 on; -1 where there is none that may be chosen.
    sensitive
        The levels of each candidate's sensitive features: rows × pool × sensitive.
    k, l
        The least rows of a class, and the least values of each sensitive feature in it.
    shares
        For each sensitive feature the share of each of its levels that a class of the row should have, to be close to
        its table; None where that does not matter.
    """

    of: PerPlace
    sensitive: Int64[np.ndarray, "rows pool sensitive"]
    k: int
    l: int  # noqa: E741  # its name in the literature
    shares: tuple[Float64[np.ndarray, "rows levels"], ...] | None = None

    @property
    def classes(self) -> int:
        """The most classes of a row."""
        return int(self.of.max(initial=-1)) + 1

    def cores(self, worth: Float64[np.ndarray, "rows pool"]) -> Int64[np.ndarray, "rows classes core"]:
        """Return the members of each class's core, the rarest values and the worthiest first; -1 where it has fewer.

        Every class must be able to keep the policy.
        """
        row, place = np.nonzero(self.of >= 0)
        number = row * max(self.classes, 1) + self.of[row, place]
        order = np.argsort(number, kind="stable")
        row, place, number = row[order], place[order], number[order]
        start = np.flatnonzero(np.diff(number, prepend=-1))
        of = np.repeat(np.arange(len(start)), np.diff(start, append=len(number)))
        values, gain = self.sensitive[row, place], worth[row, place]
        free, size, steps = np.ones(len(of), dtype=bool), np.zeros(len(start), dtype=np.int64), []
        needed = np.full((len(start), values.shape[1]), self.l)
        taken = [np.zeros((len(start), int(column.max(initial=0)) + 1)) for column in values.T]
        while len(open_ := np.flatnonzero((size < self.k) | (needed > 0).any(axis=1))):
            score = gain.copy()
            for i, column in enumerate(values.T):
                held = taken[i][of, column]
                score += _FIRST * ((held == 0) & (needed[of, i] > 0))
                if self.shares is not None:
                    score += _NEXT * (self.shares[i][row, column] * (size[of] + 1) - held)
            best = _first_best(np.where(free, score, -np.inf), of, start)[open_]
            free[best] = False
            size[open_] += 1
            for i, column in enumerate(values.T):
                needed[open_, i] -= taken[i][open_, column[best]] == 0
                taken[i][open_, column[best]] += 1
            steps.append(best)
        core = np.full((*self.of.shape[:1], max(self.classes, 1), max(len(steps), 1)), -1)
        for step, best in enumerate(steps):
            core[row[best], self.of[row[best], place[best]], step] = place[best]
        return core


_FIRST, _NEXT = 1e6, 1e3
"""What a value that a class still lacks outweighs, and one of which it has less than its share: all that a candidate
adds by itself."""


def _first_best(score: np.ndarray, of: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the place of the first highest score of each class; classes stand together."""
    high = np.flatnonzero(score == np.maximum.reduceat(score, start)[of])
    return high[np.diff(of[high], prepend=-1) > 0]


def assemble(
    pool: Levels, worth: Float64[np.ndarray, "rows pool"], grouped: Grouped, size: int, distance: float
) -> Int64[np.ndarray, "rows size"]:
    """Return the positions in the pool of each row's set, the best to read first; −1 where a set is smaller.

    Parameters
    ----------
    pool
        Candidates by level: rows × pool × features.
    worth
        What a candidate adds by itself.
    size
        How many to choose at the most.
    distance
        λ, the weight of the mean pairwise distance.
    """
    features = np.ascontiguousarray(np.moveaxis(pool, 2, 0))
    building = _Building(features, worth, grouped, size, distance / max(size - 1, 1))
    building.grow()
    for _ in range(SWAP_PASSES):
        moved = building.swap_members()
        if not (building.swap_classes() | moved):
            break
    return reading_order(features, worth, building.chosen, distance)


class _Building:
    """Sets as they grow: which candidates are in, how far each candidate is from them all, what is still free."""

    def __init__(self, features: np.ndarray, worth: np.ndarray, grouped: Grouped, size: int, pull: float) -> None:
        self.features, self.worth, self.grouped, self.pull = features, worth, grouped, pull
        self.core = grouped.cores(worth)
        self.core_size = (self.core >= 0).sum(axis=2)
        self.rows = np.arange(len(worth))
        self.free = grouped.of >= 0
        self.apart = np.zeros(worth.shape)
        self.chosen = np.full((len(worth), size), -1)
        self.active = np.zeros(self.core_size.shape, dtype=bool)
        self.inner = self._inner()

    def _inner(self) -> Float64[np.ndarray, "rows classes"]:
        """Return the sum of the distances between the members of each core."""
        total = np.zeros(self.core_size.shape)
        line = self.rows[:, None]
        for b in range(self.core.shape[2]):
            for a in range(b):
                one, other = self.core[:, :, a], self.core[:, :, b]
                differ = np.zeros(one.shape)
                for level in self.features:
                    differ += level[line, one] != level[line, other]
                total += np.where((one >= 0) & (other >= 0), differ / len(self.features), 0.0)
        return total

    @property
    def gain(self) -> Float64[np.ndarray, "rows pool"]:
        """What each candidate would add to its row's set."""
        return self.worth + 2 * self.pull * self.apart

    def _core_gain(self, gain: np.ndarray) -> Float64[np.ndarray, "rows classes"]:
        """Return what each class's core would add in all."""
        every = gain[self.rows[:, None, None], np.maximum(self.core, 0)]
        return np.asarray(np.where(self.core >= 0, every, 0.0).sum(axis=2) + 2 * self.pull * self.inner)

    def _in_active(self) -> Bool[np.ndarray, "rows pool"]:
        """Which candidates belong to a class that is in."""
        return np.asarray(self.active[self.rows[:, None], np.maximum(self.grouped.of, 0)] & (self.grouped.of >= 0))

    def grow(self) -> None:
        """Grow the sets one member a round: the next of a core that has begun, or what adds most."""
        queue, waiting = np.full((len(self.rows), self.core.shape[2]), -1), np.zeros(len(self.rows), dtype=np.int64)
        for place in range(self.chosen.shape[1]):
            deciding = waiting == 0
            if deciding.any():
                self._decide(deciding, self.chosen.shape[1] - place, queue, waiting)
            member = np.where(waiting > 0, queue[self.rows, np.maximum(waiting - 1, 0)], -1)
            if (member < 0).all():
                break
            waiting = np.maximum(waiting - 1, 0)
            self._add(place, member)

    def _add(self, place: int, member: np.ndarray) -> None:
        there = member >= 0
        self.chosen[there, place] = member[there]
        self.free[self.rows[there], member[there]] = False
        self.apart += np.where(there[:, None], distances_to(self.features, np.maximum(member, 0)), 0.0)

    def _decide(self, deciding: Mask, most: int, queue: np.ndarray, waiting: np.ndarray) -> None:
        """Queue for some rows what adds most: a core, or one more of a class that is in."""
        room = np.full(len(self.rows), most)
        gain, of = self.gain, self.grouped.of
        followers = self.free & self._in_active()
        left = followers.sum(axis=1)
        size, idle = self.core_size, (self.core_size > 0) & ~self.active
        members = np.zeros(size.shape, dtype=np.int64)
        line, place = np.nonzero(of >= 0)
        np.add.at(members, (line, of[line, place]), 1)
        smallest = np.where(idle, size, _FAR).min(axis=1)
        # What is left of the room must be one that can be filled: with followers, or with another core.
        rest = room[:, None] - size
        fits = idle & (rest >= 0)
        fills = fits & ((rest <= left[:, None] + members - size) | (rest >= smallest[:, None]))
        cores = np.where(fills.any(axis=1)[:, None], fills, fits)
        per_member = np.where(cores, self._core_gain(gain) / np.maximum(size, 1), -np.inf)
        best_core = per_member.argmax(axis=1)
        follower = np.where(followers, gain, -np.inf).argmax(axis=1)
        can_follow = (left > 0) & ((room - 1 <= left - 1) | (room - 1 >= smallest) | ~fills.any(axis=1))
        core_worth = per_member[self.rows, best_core]
        follows = can_follow & (gain[self.rows, follower] > core_worth)
        enters = deciding & ~follows & (core_worth > -np.inf)
        follows &= deciding
        queue[follows, 0], waiting[follows] = follower[follows], 1
        queue[enters] = self.core[self.rows[enters], best_core[enters]]
        waiting[enters] = size[self.rows[enters], best_core[enters]]
        self.active[self.rows[enters], best_core[enters]] = True

    def swap_members(self) -> bool:
        """Let each member give way to what would add most in its stead and keeps its class whole; tell if any did."""
        moved = False
        for place in range(self.chosen.shape[1]):
            old = np.maximum(self.chosen[:, place], 0)
            there = self.chosen[:, place] >= 0
            rest = self.apart - distances_to(self.features, old)
            gain = self.worth + 2 * self.pull * rest
            may = self.free & self._may_replace(place, old)
            best = np.where(may, gain, -np.inf).argmax(axis=1)
            better = there & may[self.rows, best] & (gain[self.rows, best] > gain[self.rows, old] + 1e-12)
            self.free[self.rows[better], old[better]] = True
            self.free[self.rows[better], best[better]] = False
            new = np.where(better, best, old)
            self.chosen[better, place] = best[better]
            self.apart = np.where(better[:, None], rest + distances_to(self.features, new), self.apart)
            moved |= bool(better.any())
        return moved

    def _may_replace(self, place: int, old: np.ndarray) -> Bool[np.ndarray, "rows pool"]:
        """Return which candidates may stand in for a member: its class keeps k rows, l values, and its shares."""
        of, chosen, sensitive = self.grouped.of, self.chosen, self.grouped.sensitive
        own = of[self.rows, old]
        if self.grouped.shares is not None:
            return np.asarray((of == own[:, None]) & (sensitive == sensitive[self.rows, old][:, None]).all(axis=2))
        inside = chosen >= 0
        inside[:, place] = False
        others = inside & (of[self.rows[:, None], np.maximum(chosen, 0)] == own[:, None])
        same, elsewhere = of == own[:, None], (others.sum(axis=1) >= self.grouped.k)[:, None] & self._in_active()
        for i in range(sensitive.shape[2]):
            values = sensitive[:, :, i]
            there = np.zeros((len(self.rows), int(values.max(initial=0)) + 1), dtype=bool)
            line, at = np.nonzero(others)
            there[line, values[line, chosen[line, at]]] = True
            held = there.sum(axis=1)[:, None]
            same = same & (held + ~there[self.rows[:, None], values] >= self.grouped.l)
            elsewhere = elsewhere & (held >= self.grouped.l)
        return np.asarray(same | elsewhere)

    def swap_classes(self) -> bool:
        """Let each class give way to the core of another as large, if that adds more; tell whether any did."""
        moved = False
        of = np.where(self.chosen >= 0, self.grouped.of[self.rows[:, None], np.maximum(self.chosen, 0)], -1)
        order = np.sort(np.where(self.active, np.arange(self.active.shape[1]), _FAR), axis=1)
        for j in range(int(self.active.sum(axis=1).max(initial=0))):
            there = order[:, j] < _FAR
            own = np.where(there, order[:, j], 0)
            held = (of == own[:, None]) & there[:, None]
            size = held.sum(axis=1)
            idle = (self.core_size == size[:, None]) & ~self.active & there[:, None] & (size > 0)[:, None]
            if not idle.any():
                continue
            slots = np.argsort(~held, axis=1, kind="stable")[:, : self.core.shape[2]]
            rest, total = self.apart.copy(), np.zeros(len(self.rows))
            for step in range(slots.shape[1]):
                inside = step < size
                member = np.maximum(self.chosen[self.rows, slots[:, step]], 0)
                away = np.where(inside[:, None], distances_to(self.features, member), 0.0)
                rest -= away
                # Distances within the class are counted as its members leave one by one.
                total += np.where(inside, (self.worth + 2 * self.pull * rest)[self.rows, member], 0.0)
            gains = np.where(idle, self._core_gain(self.worth + 2 * self.pull * rest), -np.inf)
            best = gains.argmax(axis=1)
            better = idle[self.rows, best] & (gains[self.rows, best] > total + 1e-12)
            if better.any():
                moved = True
                self._exchange(better, own, best, slots, size, rest, of)
        return moved

    def _exchange(
        self,
        better: Mask,
        own: np.ndarray,
        best: np.ndarray,
        slots: np.ndarray,
        size: np.ndarray,
        rest: np.ndarray,
        of: np.ndarray,
    ) -> None:
        """Put the core of another class in the place of one, in some rows."""
        self.active[self.rows[better], own[better]] = False
        self.active[self.rows[better], best[better]] = True
        for step in range(slots.shape[1]):
            inside = np.flatnonzero(better & (step < size))
            slot = slots[inside, step]
            new = self.core[inside, best[inside], step]
            self.free[inside, self.chosen[inside, slot]] = True
            self.free[inside, new] = False
            self.chosen[inside, slot], of[inside, slot] = new, best[inside]
            far = distances_to(self.features, np.maximum(self.core[self.rows, best, step], 0))
            rest += np.where((better & (step < size))[:, None], far, 0.0)
        self.apart = np.where(better[:, None], rest, self.apart)


_FAR = 1 << 40
"""Larger than any class."""
