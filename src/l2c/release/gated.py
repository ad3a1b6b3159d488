"""Sets that keep a privacy policy, chosen from pools of valid counterfactuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64, Int64

from l2c.core.closeness import TIE
from l2c.core.identities import distinct, identities
from l2c.core.types import Mask
from l2c.release.assemble import Grouped, assemble
from l2c.release.kept import Kept, Pooled, joined
from l2c.release.policy import Classes, Policy, kept
from l2c.release.ranking import ranks
from l2c.release.search import Search
from l2c.release.select import AS_FOUND, Selection, choose, reading_order

CLOSER_ROUNDS = 8
"""How often sets are chosen anew without the classes that were too far from their table."""


def sets_of(
    search: Search, asked: int, selection: Selection, policy: Policy
) -> tuple[Kept, Int64[np.ndarray, " rows"]]:
    """Return the set of every row of a chunk, in the order to be read, and how much coarser than it is it is told.

    In the scope of a set each set is a table; this is also how k, l and k_map are kept in a whole release by samples.
    """
    pool = joined(search.kept, len(search.layout.axes))
    most = np.minimum(search.valid, asked)
    chosen, counts, step = (
        pool.take(np.empty(0, dtype=np.int64)),
        np.zeros(len(most), dtype=np.int64),
        np.zeros_like(most),
    )
    for number, coarse in enumerate(policy.coarsened()):
        lacking = counts < most
        some = _sets(search, pool.take(np.flatnonzero(lacking[pool.row])), asked, selection, coarse)
        more = np.bincount(some.row, minlength=len(most))
        better = more > counts
        step, counts = np.where(better, number, step), np.maximum(counts, more)
        parts = [chosen.take(np.flatnonzero(~better[chosen.row])), some.take(np.flatnonzero(better[some.row]))]
        chosen = joined(parts, pool.levels.shape[1])
    return chosen, step


def _sets(search: Search, pool: Kept, asked: int, selection: Selection, policy: Policy) -> Kept:
    """Return the sets of some rows, given their pools."""
    table = replace(policy, scope="set", count="samples")
    found = table.classes(pool.row, pool.levels, pool.label)
    pool = pool.take(np.flatnonzero(found.met()[found.of]))
    # As without a policy, there may be nothing to choose by.
    every = (np.bincount(pool.row) <= asked)[pool.row] & (search.pool <= asked) & (selection == AS_FOUND)
    some = _assembled(search, pool.take(np.flatnonzero(~every)), asked, selection, table)
    chosen = joined([pool.take(np.flatnonzero(every)), some], pool.levels.shape[1])
    if policy.t is None or policy.scope == "release":
        return chosen
    closed = np.zeros(len(pool.row), dtype=bool)
    for _ in range(CLOSER_ROUNDS):
        far = _too_far(table, chosen)
        if not far.any():
            return chosen
        # Classes that stood out are left out of these rows' pools, and the sets chosen again.
        closed |= _in_same_class(table, pool, chosen.take(np.flatnonzero(far)))
        rows = np.unique(chosen.row[far])
        rest = pool.take(np.flatnonzero(~closed & np.isin(pool.row, rows)))
        again = _assembled(search, rest, asked, selection, table)
        chosen = joined([chosen.take(np.flatnonzero(~np.isin(chosen.row, rows))), again], pool.levels.shape[1])
    return chosen.take(np.flatnonzero(kept(table, chosen.row, chosen.levels, chosen.label)))


def _too_far(policy: Policy, chosen: Kept) -> Mask:
    found = policy.classes(chosen.row, chosen.levels, chosen.label)
    return np.asarray((found.distances() > (policy.t or 0.0) + TIE)[found.of])


def _in_same_class(policy: Policy, pool: Kept, some: Kept) -> Mask:
    """Return which of a pool are in a class of some of it."""
    both = joined([pool, some], pool.levels.shape[1])
    order = np.argsort(np.concatenate([pool.row, some.row]), kind="stable")
    of = np.empty(len(order), dtype=np.int64)
    of[order] = policy.classes(both.row, both.levels, both.label).of
    return np.isin(of[: len(pool.row)], of[len(pool.row) :])


def _assembled(search: Search, pool: Kept, asked: int, selection: Selection, policy: Policy) -> Kept:
    """Return the sets of rows from a pool of which every class can keep the policy."""
    if not len(pool.row):
        return pool
    rows, line = np.unique(pool.row, return_inverse=True)
    pools = Pooled.of(search.question.take(rows), search.layout, replace(pool, row=line), selection)
    there = pools.position >= 0
    of = np.full(there.shape, -1)
    of[there] = _within_rows(policy, pools.kept)[pools.position[there]]
    sensitive = pool.levels[:, policy.sensitive].astype(np.int64)[pools.position]
    shares = None if policy.t is None else tuple(_shares(there, sensitive[:, :, i]) for i in range(sensitive.shape[2]))
    grouped = Grouped(of, sensitive, policy.k, policy.l or 1, shares)
    chosen = pools.picked(assemble(pools.levels, pools.worth, grouped, asked, selection.distance))
    return replace(chosen, row=rows[chosen.row])


def _shares(there: Mask, levels: Int64[np.ndarray, "rows pool"]) -> Float64[np.ndarray, "rows levels"]:
    """Return how often each level occurs in every row's pool."""
    counts = np.zeros((len(levels), int(levels.max(initial=0)) + 1))
    line, place = np.nonzero(there)
    np.add.at(counts, (line, levels[line, place]), 1.0)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)


def _within_rows(policy: Policy, pool: Kept) -> Int64[np.ndarray, " n"]:
    """Return the class of each of a pool, counted from 0 in every row."""
    of = policy.classes(pool.row, pool.levels, pool.label).of
    # Rows stand together, and so do the numbers of their classes.
    start = np.flatnonzero(np.diff(pool.row, prepend=-1))
    return of - np.minimum.reduceat(of, start)[pool.row]


ROUNDS = 12
"""How often people choose anew among the classes that enough of them chose."""


def shared_sets(searches: Sequence[Search], asked: int, selection: Selection, policy: Policy) -> tuple[Kept, int]:
    """Return the sets of all rows of a release whose classes keep the policy together, and how much coarser it is told.

    Where it may be told in coarser levels, that is done for the whole release, until every row has a set.
    """
    answerable = sum(int((looked.valid > 0).sum()) for looked in searches)
    best, best_step, most = None, 0, -1
    for step, coarse in enumerate(policy.coarsened()):
        found = _shared(searches, asked, selection, coarse)
        served = len(np.unique(found.row))
        if best is None or served > most:
            best, best_step, most = found, step, served
        if served == answerable:
            break
    assert best is not None  # the policy itself is always there
    return best, best_step


def _shared(searches: Sequence[Search], asked: int, selection: Selection, policy: Policy) -> Kept:
    release = _Release.of(searches, asked, selection, policy)
    # A set that is smaller than a class can only be part of one that others are in too.
    together = policy.count == "people" or asked < policy.k
    chosen = release.in_common() if together else release.one_by_one()
    pool = release.pool
    chosen = kept(policy, pool.row, pool.levels, pool.label, chosen)
    if policy.t is None:  # one more in a class could move it away from the others
        chosen |= release.followers(chosen)
    return release.read(chosen)


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """What one search found: which part of the release's valid ones it is, and its rows' pools."""

    part: slice
    pools: Pooled
    search: Search

    def there(self, which: Mask) -> Bool[np.ndarray, "rows pool"]:
        """Return which places of the pools hold one of some of all valid ones."""
        there = self.pools.position >= 0
        there[there] = which[self.part][self.pools.position[there]]
        return there


@dataclass(frozen=True, slots=True, eq=False)
class _Release:
    """The valid ones of all rows of a release, together and in chunks; their classes are those of the release."""

    asked: int
    selection: Selection
    policy: Policy
    pool: Kept
    classes: Classes
    chunks: tuple[_Chunk, ...]

    @classmethod
    def of(cls, searches: Sequence[Search], asked: int, selection: Selection, policy: Policy) -> _Release:
        features, chunks, end = len(searches[0].layout.axes), [], 0
        for looked in searches:
            part = joined(looked.kept, features)
            if len(part.row):
                pools = Pooled.of(looked.question, looked.layout, part, selection)
                chunks.append(_Chunk(slice(end, end + len(part.row)), pools, looked))
                end += len(part.row)
        pool = joined([chunk.pools.kept.among(chunk.search.start) for chunk in chunks], features)
        found = policy.classes(np.zeros_like(pool.row), pool.levels, pool.label)
        return cls(asked, selection, policy, pool, found, tuple(chunks))

    @property
    def rows(self) -> int:
        return int(self.pool.row.max(initial=-1)) + 1

    def one_by_one(self) -> Mask:
        """Return which are chosen if the classes of every set keep the policy by themselves."""
        chosen = np.zeros(len(self.pool.row), dtype=bool)
        for chunk in self.chunks:
            own = _sets(chunk.search, chunk.pools.kept, self.asked, self.selection, self.policy)
            chosen[chunk.part] = _found_in(chunk.pools.kept, own)
        return chosen

    def in_common(self) -> Mask:
        """Return which are chosen if everyone chooses among the classes that enough people choose, till all agree."""
        open_ = self.classes.met(self.pool.row)
        chosen = self._choose(open_[self.classes.of], np.zeros(len(self.pool.row), dtype=bool))
        for last in np.arange(1, ROUNDS + 1) == ROUNDS:
            here = np.flatnonzero(chosen)
            of, row = self.classes.of[here], self.pool.row[here]
            people = distinct(of, row, self.classes.count)
            some = self.policy.classes(np.zeros_like(row), self.pool.levels[here], self.pool.label[here])
            good = np.zeros(self.classes.count, dtype=bool)
            near = self.policy.t is None or some.distances() <= self.policy.t + TIE
            good[of] = (some.met(row) & near)[some.of]
            short = np.flatnonzero((people > 0) & ~good)
            if not len(short):
                return chosen
            # The least popular go first: those who lose them may then choose what others have.
            order = short[np.argsort(people[short], kind="stable")]
            open_[order if last else order[: -(-len(order) // 2)]] = False
            chosen = self._choose(open_[self.classes.of], chosen)
        return chosen

    def _choose(self, present: Mask, chosen: Mask) -> Mask:
        """Return which are chosen if each row that lacks some, or holds what is no longer there, chooses anew."""
        lacking = np.bincount(self.pool.row[chosen & present], minlength=self.rows) < self.asked
        chosen = chosen & ~lacking[self.pool.row]
        for chunk in self.chunks:
            start, pools = chunk.search.start, chunk.pools
            rows = np.flatnonzero(lacking[start : start + len(pools.position)])
            position = pools.position[rows]
            there = np.where(chunk.there(present)[rows], position, -1)
            order = choose(pools.kept.levels, there, pools.worth[rows], self.asked, self.selection.distance)
            line, at = np.nonzero(order >= 0)
            chosen[chunk.part.start + position[line, order[line, at]]] = True
        return chosen

    def followers(self, chosen: Mask) -> Mask:
        """Return the best of those whose class is released already, for rows with fewer than asked."""
        out = np.zeros(self.classes.count, dtype=bool)
        out[self.classes.of[chosen]] = True
        worth = np.concatenate([np.empty(0), *(chunk.pools.worth[chunk.pools.position >= 0] for chunk in self.chunks)])
        free = np.flatnonzero(~chosen & out[self.classes.of])
        free = free[np.lexsort((-worth[free], self.pool.row[free]))]
        lacking = self.asked - np.bincount(self.pool.row[chosen], minlength=self.rows)
        more = np.zeros(len(chosen), dtype=bool)
        more[free[ranks(self.pool.row[free]) <= lacking[self.pool.row[free]]]] = True
        return more

    def read(self, chosen: Mask) -> Kept:
        """Return those chosen, each row's in the order to be read."""
        sets = []
        for chunk in self.chunks:
            pools, there = chunk.pools, chunk.there(chosen)
            place = np.argsort(~there, axis=1, kind="stable")[:, : self.asked]
            place = np.where(np.take_along_axis(there, place, axis=1), place, -1)
            features = np.ascontiguousarray(np.moveaxis(pools.levels, 2, 0))
            order = reading_order(features, pools.worth, place, self.selection.distance)
            sets.append(pools.picked(order).among(chunk.search.start))
        return joined(sets, self.pool.levels.shape[1])


def _found_in(pool: Kept, some: Kept) -> Mask:
    """Return which of a pool are among some of it."""
    keys = identities([np.concatenate([pool.row, some.row]), *np.concatenate([pool.levels, some.levels]).T])
    return np.isin(keys[: len(pool.row)], keys[len(pool.row) :])
