"""The search for one chunk of rows: propose, filter, judge, keep, until each row has its pool or its budget ends.

Every row walks along its own stream of proposals and keeps the first that obey the schema, were not seen before, and
that the model puts in the desired class. How far it has walked depends on that row alone, so neither the batch nor the
order of rows changes what it gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64, Int16, Int64

from l2c.core.blackbox import BlackBox
from l2c.core.compiled import compiles
from l2c.core.costs import changes_of
from l2c.core.exponential import shares
from l2c.core.layout import Layout
from l2c.core.method import Dependences, Marginals, Proposer, Question
from l2c.core.twin import Twin
from l2c.core.types import Levels, Mask
from l2c.engine.decode import decode_levels
from l2c.release.bench import Axes, Counts, Findings, Given, Grounds
from l2c.release.budget import Budget, Manner
from l2c.release.by_level import Model, judge_by_level
from l2c.release.doubt import misjudged
from l2c.release.exhaust import ENUMERABLE, every_proposal
from l2c.release.hard_rows import HardRows
from l2c.release.jury import Jury, Verdict
from l2c.release.kept import Kept, Pooled, joined
from l2c.release.obey import fits, obeys, obeys_rules
from l2c.release.policy import Policy
from l2c.release.ranking import ranks
from l2c.release.remembering import Remembering
from l2c.release.select import AS_FOUND, Selection, choose
from l2c.release.sift import Sieve
from l2c.release.walk import Memory, Need, each_in_its_place, next_round, walked

BLOCK = 1 << 17
"""Proposals handled at once: large enough to batch the model's calls, small enough for the memory."""

NEAR = 1 << 16
"""The same where a twin judges them: there is no call to batch, and less memory is nearer."""

FEW = 512
"""Proposals up to which both choices of values are asked at once, most of the second in vain: a call of a model that is
not seen into costs as much as a thousand rows or more."""

GATED_SHARE = 4
"""Valid ones that a row keeps at the most under a privacy policy, for each one of its pool."""

Banned = Callable[[Levels], Mask]
"""Tells which combinations of levels may not leave."""


@dataclass(slots=True, eq=False)
class Search:
    """The search for one chunk of rows: what each has drawn, asked and found so far.

    `pool` is how many valid ones each row looks for, and with `enough` of them it looks no longer than the budget's
    patience; `start` is the position of the chunk's first row in the batch, for which the proposer speaks. A proposal
    is valid if it reaches its goal under the model and under every one of `also`, other versions of it. With a `twin`
    of the model, proposals are judged by it, and by the model itself where they come close to a decision or to an end
    of a range. What is `banned` is not even judged; under a privacy policy only those count that it would let out.
    """

    layout: Layout
    question: Question
    blackbox: BlackBox
    proposer: Proposer
    manner: Manner
    pool: int
    enough: Int64[np.ndarray, " rows"]
    budget: Budget
    start: int
    also: tuple[BlackBox, ...] = ()
    twin: Twin | None = None
    banned: Banned | None = None
    policy: Policy | None = None
    drawn: Int64[np.ndarray, " rows"] = field(init=False)
    judged: Int64[np.ndarray, " rows"] = field(init=False)
    valid: Int64[np.ndarray, " rows"] = field(init=False)
    held: Int64[np.ndarray, " rows"] = field(init=False)
    different: Int64[np.ndarray, " rows"] = field(init=False)
    obeying: Int64[np.ndarray, " rows"] = field(init=False)
    possible: Float64[np.ndarray, " rows"] = field(init=False)
    sieve: Sieve = field(init=False)
    jury: Jury = field(init=False)
    by_level: Model | None = field(init=False)
    hard_rows: HardRows = field(init=False)
    proven: Mask = field(init=False)
    best: Float64[np.ndarray, " rows"] = field(init=False)
    kept: list[Kept] = field(default_factory=list)
    out_of_time: bool = False

    def __post_init__(self) -> None:
        for name in ("drawn", "judged", "valid", "held", "different", "obeying"):
            setattr(self, name, np.zeros(len(self.question), dtype=np.int64))
        self.possible = self.question.room.combinations(self.layout, self.question.levels)
        self.sieve = Sieve(self.layout, self.question)
        self.hard_rows = HardRows.none_yet(self.layout, self.question, self.proposer, self.start)
        self.proven, self.best = np.zeros(len(self.question), dtype=bool), np.zeros(len(self.question))
        self.jury = Jury(self.layout, self.question, self.blackbox, self.also, self.twin)
        self.by_level = self._by_level()

    def _by_level(self) -> Model | None:
        """Return what a walk needs to know of the model; None where rows must be drawn, sifted and judged in stages."""
        tied = self.banned is not None or self.policy is not None or bool(self.layout.schema.rules)
        if self.twin is None or tied or not self._levels_decide or self.question.goal.ranged or not compiles():
            return None
        return judge_by_level(self.layout, self.twin, self.question, twice=self.manner.decode_again)

    @property
    def exhausted(self) -> Mask:
        """Which rows have seen everything that they have room for."""
        return self.different >= self.possible

    @property
    def most(self) -> int:
        """How many valid ones a row keeps: under a policy more than its pool, for not all of them may leave."""
        return self.pool if self.policy is None else GATED_SHARE * self.pool

    @property
    def most_draws(self) -> Int64[np.ndarray, " rows"]:
        """How many draws each row may make, given what it has."""
        patience, tries = self.budget.patience, self.budget.tries
        return np.where(self.held >= self.enough, tries if patience is None else min(patience, tries), tries)

    @property
    def pending(self) -> np.ndarray:
        lacking = np.flatnonzero((self.held < self.pool) & (self.valid < self.most))
        if not len(lacking):
            return lacking
        # What has too few is not given up before all of a small room was tried.
        small = (self.held < self.enough) & (self.possible <= np.minimum(self.drawn, ENUMERABLE))
        hopeful = ~self.question.already & ~self.exhausted & ((self.drawn < self.most_draws) | small)
        return lacking[hopeful[lacking]]

    def run(self) -> None:
        """Go on until every row has its pool, or its budget has ended."""
        self._look()
        wronged = self._misjudged()
        if len(wronged):
            self._begin_again(wronged)
            self._look()
        # What a twin makes of these rows is more than what they found, and was for finding it.
        self.by_level = None
        self.jury.forget()

    def _look(self) -> None:
        while len(pending := self.pending) and not self.out_of_time:
            small = self.possible[pending] <= np.minimum(self.drawn[pending], ENUMERABLE)
            if small.any():
                self._enumerate(pending[small])
                self._count_held()
                pending = pending[~small]
            if self.manner.refine:
                self.hard_rows.single_out(pending, self.valid, self.drawn)
            pending = self._walk(pending)
            if not len(pending):
                continue
            for rows, counts in _blocks(pending, self.next_draws(pending)):
                self.advance(rows, counts)
                self._count_held()
                self.out_of_time = self.budget.expired()
                if self.out_of_time:
                    break

    def _misjudged(self) -> Int64[np.ndarray, " some"]:
        """Return the rows that got nothing by a twin's judgement, which the model does not share."""
        nothing = np.flatnonzero((self.valid == 0) & ~self.question.already)
        if not self.manner.doubt or self.twin is None or not len(nothing):
            return nothing[:0]
        twice, expired = self.manner.decode_again, self.budget.expired
        return misjudged(self.jury, self.proposer, self.start, nothing, expired, twice=twice)

    def _begin_again(self, rows: Int64[np.ndarray, " some"]) -> None:
        """Forget what rows that got nothing have seen; from now on the model itself judges."""
        self.twin, self.by_level = None, None
        self.jury = Jury(self.layout, self.question, self.blackbox, self.also, None)
        self.sieve = Sieve(self.layout, self.question)
        for counts in (self.drawn, self.judged, self.valid, self.held, self.different, self.obeying):
            counts[rows] = 0
        self.best[rows], self.hard_rows.hard[rows] = 0.0, False

    @property
    def _levels_decide(self) -> bool:
        """Whether nothing but its levels decides if a proposal obeys, so that values need not be looked up."""
        return self.question.room.prices is None and not self.question.room.conditions

    def next_draws(self, rows: np.ndarray) -> Int64[np.ndarray, " rows"]:
        """Return how many more each row should draw, from its own success so far."""
        drawn, held, most = self.drawn[rows], self.held[rows], self.most_draws[rows]
        how_many = next_round if compiles() else next_round.plain
        more = how_many(drawn, held, self.pool, self.budget.acceptance, most).astype(np.int64)
        return np.where(self.hard_rows.hard[rows], np.minimum(more, self.hard_rows.at_most(rows, drawn)), more)

    def _walk(self, pending: np.ndarray) -> np.ndarray:
        """Let the rows that can walk by themselves do so, and return the others."""
        able = ~(self.hard_rows.hard | self.hard_rows.tight)[pending]
        rows = pending[able]
        if self.by_level is None or not len(rows):
            return pending
        sources = self.proposer.sources(self.start + rows)
        for some, source in sources:
            self._walk_along(rows[some], source)
        if sources:
            return pending[~able]
        for some, counts in _blocks(rows, self.next_draws(rows)):
            levels = self.proposer.propose(self.start + some, self.drawn[some], int(counts.max()))
            self._walk_along(some, Given(levels, counts))
            if self.out_of_time:
                break
        return pending[~able]

    def _walk_along(self, rows: np.ndarray, source: Marginals | Dependences | Given) -> None:
        """Let rows walk along draws of their own, or along given ones, and keep what they find."""
        assert self.by_level is not None
        budget, question, sieve = self.budget, self.question, self.sieve
        patience = budget.tries if budget.patience is None else budget.patience
        counts = Counts(
            self.drawn, self.valid.copy(), self.different, self.obeying, self.judged, np.full(len(question), -np.inf)
        )
        found, left = walked(
            rows, *each_in_its_place(source), Axes(self.layout.offsets, self.layout.sizes, sieve.words, sieve.shifts),
            Grounds(question.levels, question.room.open, self.possible), self.by_level,
            Need(self.pool, self.enough, budget.acceptance, budget.tries, patience, self.manner.refine),
            counts, Memory(sieve.table, sieve.start, sieve.slots),
        )  # fmt: skip
        if len(left.row):
            sieve.remember(left.row, left.keys)
        self.best = np.maximum(self.best, shares(counts.best))
        self._keep_found(found, counts.valid)
        self.out_of_time = budget.expired()

    def _keep_found(self, found: Findings, surely_valid: Int64[np.ndarray, " rows"]) -> None:
        """Keep what rows found on their walk, once the model has said what they could not."""
        good, chance, second = found.sure, shares(found.lead), found.second
        label = np.take(self.question.desired, found.row)
        if good.all():
            self.kept.append(Kept(found.row, found.levels, None, chance, label, second))
            self.held = self.valid = surely_valid
            return
        unsure = np.flatnonzero(~good)
        self.obeying += np.bincount(found.row[unsure], minlength=len(self.obeying))
        good[unsure], chance[unsure], second[unsure] = self._resolved(found, unsure)
        self._keep(found.row, found.levels, good, chance, label, second)

    def _resolved(self, found: Findings, unsure: np.ndarray) -> tuple[Mask, Float64[np.ndarray, " n"], Mask]:
        """Return whether proposals in doubt are valid, their probability, and whether with the second values.

        Those for which the second values are in doubt have failed with the first.
        """
        row, levels, second = found.row[unsure], found.levels[unsure], found.second[unsure]
        good, chance = self._told(row, levels, second)
        np.add.at(self.judged, row, 1 + second)
        rest = np.flatnonzero(~good & ~second)
        if self.manner.decode_again:
            rest = rest[self.jury.has_others(row[rest], levels[rest])]
            if len(rest):
                good[rest], chance[rest] = self._told(row[rest], levels[rest], np.ones(len(rest), dtype=bool))
                np.add.at(self.judged, row[rest], 1)
                second[rest] = good[rest]
        return good, chance, second

    def _told(
        self, row: Int64[np.ndarray, " n"], levels: Levels, second: Mask
    ) -> tuple[Mask, Float64[np.ndarray, " n"]]:
        """Return whether the model itself finds proposals valid, and how probable."""
        good, chance = self.jury.ask(row, levels, second)
        np.maximum.at(self.best, row, chance)
        return good, chance

    def advance(self, rows: np.ndarray, counts: Int64[np.ndarray, " rows"]) -> None:
        """Draw, filter and judge for some rows, and keep what is good."""
        count = int(counts.max())
        levels = self.hard_rows.proposed(rows, self.drawn[rows], count).reshape(-1, len(self.layout.axes))
        if (counts < count).any():
            levels = levels.take(np.flatnonzero(np.arange(count)[None, :] < counts[:, None]), axis=0)
        self.drawn[rows] += counts
        self._consider(np.repeat(rows, counts), levels)

    def _consider(self, row: Int64[np.ndarray, " n"], levels: Levels) -> None:
        """Judge what is new and obeys; rows stand together."""
        new = np.flatnonzero(self.sieve.worth_asking(row, levels))
        if len(new) < len(row):
            row, levels = row.take(new), levels.take(new, axis=0)
        self.different += np.bincount(row, minlength=len(self.different))
        second, good = self._obeying_choice(row, levels)
        good &= changes_of(self.question.levels, row, levels) > 0
        good = self._free(levels, good)
        if not good.all():
            which = np.flatnonzero(good)
            row, levels, second = row.take(which), levels.take(which, axis=0), second.take(which)
        self.obeying += np.bincount(row, minlength=len(self.obeying))
        self._judge(row, levels, second)

    def offer(self, row: int, levels: Int16[np.ndarray, " features"]) -> None:
        """Judge a proposal that came from elsewhere, even if it was seen before with other values."""
        place, every = np.array([row]), levels[None, :]
        if not fits(self.layout, self.question.room, place, self.question.levels[place], every).all():
            return
        second, good = self._obeying_choice(place, every)
        if self._free(every, good).all():
            self._judge(place, every, second)

    def _free(self, levels: Levels, good: Mask) -> Mask:
        """Return which of the good proposals may leave."""
        if self.banned is not None:
            asked = np.flatnonzero(good)
            good[asked] = ~self.banned(levels[asked])
        return good

    def _obeying_choice(self, row: Int64[np.ndarray, " n"], levels: Levels) -> tuple[Mask, Mask]:
        """Return which proposals take the second choice of values, and which obey.

        They do where the first choice breaks a limit and the second does not.
        """
        second = np.zeros(len(row), dtype=bool)
        if self._levels_decide:
            return second, obeys_rules(self.layout, self.question.levels, row, levels)
        good = self._obeys(row, levels, self.question.room.values)
        if self.manner.decode_again:
            rest = np.flatnonzero(~good)
            second[rest] = self._obeys(row.take(rest), levels.take(rest, axis=0), self.question.room.others)
        return second, good | second

    def _obeys(self, row: Int64[np.ndarray, " n"], levels: Levels, values: Float64[np.ndarray, "rows width"]) -> Mask:
        """Return which proposals obey with one choice of values."""
        return obeys(self.layout, self.question, row, levels, decode_levels(self.layout, levels, values, row))

    def _enumerate(self, rows: np.ndarray) -> None:
        """Consider everything that some rows have room for, so that none of it is left to luck."""
        together = max(1, BLOCK // ENUMERABLE)
        for some in np.split(rows, range(together, len(rows), together)):
            every = [every_proposal(self.layout, self.question.room, row, self.question.levels[row]) for row in some]
            if every and self.by_level is None:
                self._consider(np.repeat(some, [len(one) for one in every]), np.concatenate(every))
            elif every:
                self._walk_through(some, every)
        self.different[rows] = self.possible[rows]

    def _walk_through(self, rows: np.ndarray, every: Sequence[Levels]) -> None:
        """Let rows walk along all that they have room for, which counts as no draw."""
        counts, drawn = np.array([len(one) for one in every]), self.drawn.copy()
        levels = np.zeros((len(rows), int(counts.max()), len(self.layout.axes)), dtype=np.int16)
        for one, line in zip(every, levels, strict=True):
            line[: len(one)] = one
        self._walk_along(rows, Given(levels, counts))
        self.drawn[:] = drawn

    def _judge(self, row: Int64[np.ndarray, " n"], levels: Levels, second: Mask) -> None:
        """Ask the judges, and keep for each row the first valid proposals that it still lacks."""
        if not len(row):
            return
        self._hear_both(row, levels, second)
        good, chance, near, label = self._asked(row, levels, second)
        if self.manner.decode_again:
            self._judge_again(row, levels, second, good, chance, near, label)
        if self.manner.refine:
            self.hard_rows.hear(row, levels, near)
        self._keep(row, levels, good, chance, label, second)

    def _keep(
        self,
        row: Int64[np.ndarray, " n"],
        levels: Levels,
        good: Mask,
        chance: Float64[np.ndarray, " n"],
        label: Int64[np.ndarray, " n"],
        second: Mask,
    ) -> None:
        """Keep for each row the first valid ones that it still lacks."""
        which = np.flatnonzero(good)
        # Rows stand together and in the order of drawing.
        found, lacking = np.bincount(row[which], minlength=len(self.valid)), self.most - self.valid
        if (found > lacking).any():
            which = which[ranks(row[which]) <= lacking[row[which]]]
        # Levels and the choice of values tell the values; most are never looked at.
        kept = Kept(row, levels, None, chance, label, second)
        kept = kept if len(which) == len(row) else kept.of(which)
        self.valid += np.minimum(found, lacking)
        self.kept.append(kept if self.policy is None else self.with_values(kept))
        if self.policy is None:
            self.held = self.valid

    def _count_held(self) -> None:
        """Count for each row those of its valid ones that a policy would let out."""
        if self.policy is not None:
            kept = joined(self.kept, len(self.layout.axes))
            leaves = self.policy.may_leave(kept.row, kept.levels, kept.label)
            self.held = np.bincount(kept.row[leaves], minlength=len(self.valid))

    def _asked(self, row: Int64[np.ndarray, " n"], levels: Levels, second: Mask) -> Verdict:
        """Return what the judges say of proposals, and count it."""
        verdict = self.jury.judge(row, levels, second)
        self.judged += np.bincount(row, minlength=len(self.judged))
        starts = np.append(0, np.flatnonzero(row[1:] != row[:-1]) + 1)
        self.best[row[starts]] = np.maximum(self.best[row[starts]], np.maximum.reduceat(verdict.chance, starts))
        return verdict

    def _hear_both(self, row: Int64[np.ndarray, " n"], levels: Levels, second: Mask) -> None:
        """Ask the model about both choices of values of few proposals in one call; of many, or by a twin, nothing."""
        known = self.twin is not None or isinstance(self.blackbox, Remembering)
        if known or not self.manner.decode_again or len(row) > FEW:
            self.jury.hear()
            return
        some = self._with_others(row, levels, np.flatnonzero(~second))
        others = self.jury.values(row.take(some), levels.take(some, axis=0), np.ones(len(some), dtype=bool))
        self.jury.hear(self.jury.values(row, levels, second), others)

    def _with_others(
        self, row: Int64[np.ndarray, " n"], levels: Levels, which: Int64[np.ndarray, " some"]
    ) -> Int64[np.ndarray, " fewer"]:
        """Return those of some proposals that have a second choice of values, and obey with it."""
        which = which[self.jury.has_others(row.take(which), levels.take(which, axis=0))]
        if self._levels_decide:
            return which
        return which[self._obeys(row.take(which), levels.take(which, axis=0), self.question.room.others)]

    def _judge_again(
        self,
        row: Int64[np.ndarray, " n"],
        levels: Levels,
        second: Mask,
        good: Mask,
        chance: Float64[np.ndarray, " n"],
        near: Float64[np.ndarray, " n"],
        label: Int64[np.ndarray, " n"],
    ) -> None:
        """Give proposals that are not valid a second chance, with the other values that stand for their bins."""
        bad = self._with_others(row, levels, np.flatnonzero(~(good | second)))
        if not len(bad):
            return
        others = np.ones(len(bad), dtype=bool)
        valid, probability, nearness, named = self._asked(row.take(bad), levels.take(bad, axis=0), others)
        good[bad], second[bad], better = valid, valid, bad[valid]
        chance[better], near[better], label[better] = probability[valid], nearness[valid], named[valid]

    def chosen(self, asked: int, selection: Selection) -> Kept:
        """Return the set of every row, rows together and in the order to be read."""
        kept = joined(self.kept, len(self.layout.axes))
        if not len(kept.row) or (self.pool <= asked and selection == AS_FOUND):
            return self.with_values(kept)
        if selection.cost:
            kept = self.with_values(kept)
        pools = Pooled.of(self.question, self.layout, kept, selection)
        order = choose(kept.levels, pools.position, pools.worth, asked, selection.distance)
        return self.with_values(pools.picked(order))

    def with_values(self, kept: Kept) -> Kept:
        """Return what was kept with its values worked out."""
        if kept.cells is not None:
            return kept
        cells = self.jury.values(kept.row, kept.levels, kept.second)
        return Kept(kept.row, kept.levels, cells, kept.chance, kept.label, kept.second)


def _blocks(
    rows: np.ndarray, counts: Int64[np.ndarray, " rows"]
) -> Iterator[tuple[np.ndarray, Int64[np.ndarray, " rows"]]]:
    """Yield the rows in runs of bounded work, rows that need about as many draws together."""
    order = np.argsort(-counts, kind="stable")
    while len(order):
        # A block draws as many for each row as its neediest, which stands first.
        fit = max(1, BLOCK // int(counts[order[0]]))
        block, order = np.sort(order[:fit]), order[fit:]
        yield rows[block], counts[block]
