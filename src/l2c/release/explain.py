"""From proposals to what may leave: a release for a batch of rows, with an outcome for every one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain, repeat

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.blackbox import BlackBox, decide
from l2c.core.explanation import Outcome, Reason, Released
from l2c.core.goal import judged_by_all
from l2c.core.layout import Layout
from l2c.core.method import Proposer, Question
from l2c.core.threads import Here, by_oneself, in_order
from l2c.core.twin import Twin
from l2c.core.types import Label, Mask, Probabilities
from l2c.release import search
from l2c.release.asked_here import AskedHere
from l2c.release.budget import Budget, Manner
from l2c.release.gated import sets_of, shared_sets
from l2c.release.kept import Kept, joined, known
from l2c.release.policy import Policy
from l2c.release.ranking import only, ranks
from l2c.release.search import Banned, Search
from l2c.release.select import Selection
from l2c.release.settle import Sight, settle
from l2c.release.withhold import LATE, NO_OTHERS, shortages, withheld

Sets = tuple[int, Selection]
"""How many to choose for each row at the most, and how."""


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """What is left of the search for a chunk of rows once its sets are chosen: its pools are gone."""

    sets: Kept
    outcomes: tuple[Outcome, ...]
    best: Float64[np.ndarray, " rows"]

    @classmethod
    def of(cls, looked: Search, asked: int, selection: Selection) -> Ended:
        """Choose the sets of a chunk; `row` is the place in the whole batch."""
        sets = looked.chosen(asked, selection).among(looked.start)
        return cls(sets, tuple(_outcomes(looked, asked)), looked.best)


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """What was found for a batch of rows, before sets are chosen from it, or after (`at_once`)."""

    question: Question
    layout: Layout
    classes: tuple[Label, ...]
    policy: Policy | None
    searches: tuple[Search, ...]
    ended: tuple[Ended, ...] = ()
    at_once: Sets | None = None

    @property
    def best(self) -> Float64[np.ndarray, " rows"]:
        """The highest probability of the desired outcome that was seen for each row."""
        parts: tuple[Search | Ended, ...] = self.searches or self.ended
        return np.concatenate([part.best for part in parts])

    def release(self, asked: int, selection: Selection) -> Released:
        """Return the release with sets of at most `asked`, each row's counterfactuals together and in order."""
        assert self.at_once in (None, (asked, selection))
        found, outcomes, steps = self._chosen(asked, selection)
        question = self.question
        return Released(
            layout=self.layout,
            classes=self.classes,
            asked=asked,
            factual=question.cells,
            current=question.current,
            desired=question.desired,
            goal=question.goal,
            outcomes=outcomes,
            row=found.row,
            rank=ranks(found.row),
            levels=found.levels,
            cells=known(found.cells),
            chance=found.chance,
            predicted=found.label,
            valid=np.ones(len(found.row), dtype=bool),
            coarse=steps if self.policy is not None and self.policy.generalise else None,
        )

    def _chosen(self, asked: int, selection: Selection) -> tuple[Kept, tuple[Outcome, ...], Int64[np.ndarray, " rows"]]:
        """Return the sets, how each row ended, and how much coarser than it is each is told."""
        steps = np.zeros(len(self.question), dtype=np.int64)
        if self.policy is not None:
            found, steps = self._permitted(self.policy, asked, selection, steps)
            counts = np.bincount(found.row, minlength=len(self.question))
            return found, tuple(self._withheld(self.policy, counts.tolist(), steps.tolist(), asked)), steps
        ended = self.ended or tuple(Ended.of(looked, asked, selection) for looked in self.searches)
        found = joined([part.sets for part in ended], len(self.layout.axes))
        return found, tuple(chain.from_iterable(part.outcomes for part in ended)), steps

    def _withheld(self, policy: Policy, counts: list[int], steps: list[int], asked: int) -> Iterator[Outcome]:
        """Yield how each row ended, given how many were chosen for it and how much coarser they are told."""
        plain = [outcome for looked in self.searches for outcome in _outcomes(looked, asked)]
        pool = joined([kept.among(start) for start, kept in self._kept()], len(policy.layout.axes))
        whys = shortages(policy, pool.row, pool.levels, pool.label, self.question)
        ends = [end for looked in self.searches for end in _ends(looked, policy)]
        for outcome, count, step, why, end in zip(plain, counts, steps, whys, ends, strict=True):
            ended = withheld(policy, count, asked, outcome, why, end)
            if count and step:
                ended = replace(ended, sentence=f"{ended.sentence}; the quasi-identifiers are told in coarser levels")
            yield ended if outcome.valid else outcome

    def _kept(self) -> Iterator[tuple[int, Kept]]:
        for looked in self.searches:
            yield looked.start, joined(looked.kept, len(looked.layout.axes))

    def _permitted(
        self, policy: Policy, asked: int, selection: Selection, steps: Int64[np.ndarray, " rows"]
    ) -> tuple[Kept, Int64[np.ndarray, " rows"]]:
        """Return the sets that a policy lets out, and how much coarser than it is each row is told."""
        if policy.scope == "release":
            found, common = shared_sets(self.searches, asked, selection, policy)
            return found, steps + common
        sets = []
        for looked in self.searches:
            found, step = sets_of(looked, asked, selection, policy)
            sets.append(found.among(looked.start))
            steps[looked.start : looked.start + len(step)] = step
        return joined(sets, len(self.layout.axes)), steps


def look(
    question: Question,
    *,
    layout: Layout,
    blackbox: BlackBox,
    proposer: Proposer,
    manner: Manner,
    pool: int,
    enough: int | Int64[np.ndarray, " rows"],
    budget: Budget,
    also: tuple[BlackBox, ...] = (),
    twin: Twin | None = None,
    banned: Banned | None = None,
    policy: Policy | None = None,
    sight: Sight | None = None,
    progress: Callable[[int, int], None] | None = None,
    at_once: Sets | None = None,
    threads: int = 1,
) -> Pools:
    """Return up to `pool` different valid counterfactuals for every row of a batch that can be read.

    Rows that have the desired outcome already get none, and are told so. A row that has `enough` may stop short of
    a full pool, if the budget's patience ends. With sight of the model, rows that found none are settled.

    Parameters
    ----------
    also
        Other versions of the model, under each of which a counterfactual must reach its goal too.
    twin
        A twin of the model that judges proposals in its stead, where no other versions of it count.
    banned
        Which combinations of levels may not leave, such as copies of training rows; they are not even judged.
    policy
        What every class of a release must be like. Whoever proposes, what would break it is not released; a proposer
        that draws in blocks (`blocks.InBlocks`) needs fewer draws for it.
    at_once
        The sets to choose as soon as a chunk of rows is done, where there are no others to be chosen from its pools:
        they are not kept then. Under a policy they are all needed in the end.
    threads
        How many chunks may be worked on at once, by a twin that does not run the model's own code; the model itself is
        asked in this thread alone.
    """
    rows = len(question)
    if also:
        twin = None
        question = replace(question, already=_already_under_all(question, also))
    step, each = _step(rows, max(1, (search.BLOCK if twin is None else search.NEAR) // pool)), np.full(rows, enough)

    def looked_for(start: int, here: Here) -> Search | Ended:
        chunk = question if rows <= step else question.take(np.arange(start, min(rows, start + step)))
        model = blackbox if here is by_oneself else AskedHere(blackbox, here)
        looking = Search(
            layout, chunk, model, proposer, manner, pool, each[start : start + step], budget, start, also, twin, banned,
            policy,
        )  # fmt: skip
        looking.out_of_time = start > 0 and budget.expired()
        looking.run()
        if sight is not None and not looking.out_of_time:
            here(lambda: settle(looking, sight))
        return looking if at_once is None else Ended.of(looking, *at_once)

    searches: list[Search] = []
    ended: list[Ended] = []
    starts = range(0, max(rows, 1), step)  # no row at all is one empty chunk
    # Other judges than a twin take most of the time themselves, and what is kept of a search would ask them later.
    beside = threads if twin is not None and twin.by_arithmetic and at_once is not None else 1
    for start, part in zip(starts, in_order(looked_for, starts, beside), strict=True):
        if isinstance(part, Search):
            searches.append(part)
        else:
            ended.append(part)
        if progress:
            progress(min(start + step, rows), rows)
    return Pools(question, layout, blackbox.classes, policy, tuple(searches), tuple(ended), at_once)


def _step(rows: int, most: int) -> int:
    """Return how many rows make a chunk: no more than fit in, and about as many in each.

    >>> _step(200, 65), _step(65, 65), _step(0, 65)
    (50, 65, 65)
    """
    return -(-rows // -(-rows // most)) if rows else most


def _already_under_all(question: Question, also: tuple[BlackBox, ...]) -> Mask:
    """Return which rows are where they should be under every version of the model."""
    already = question.already.copy()
    for blackbox in also:
        rows = np.flatnonzero(already)
        if len(rows):
            already[rows] = question.goal.take(rows).reached(blackbox.proba(question.cells[rows]))
    return already


def confirm(released: Released, proba: Probabilities, also: Sequence[Probabilities] = ()) -> Released:
    """Return the release without what, once the original model is asked again, does not reach its goal.

    `also` are the answers of other versions of the model, under which it must reach its goal too.
    """
    valid, chance, _ = judged_by_all(released.goal, (proba, *also), released.row)
    released = replace(released, chance=chance, predicted=decide(proba, released.goal.threshold))
    if valid.all():
        return released
    lost = np.bincount(released.row[~valid], minlength=len(released.outcomes))
    outcomes = tuple(
        _taken_back(outcome, int(gone), released.asked) if gone else outcome
        for outcome, gone in zip(released.outcomes, lost, strict=True)
    )
    return only(replace(released, outcomes=outcomes), valid)


def _taken_back(outcome: Outcome, gone: int, asked: int) -> Outcome:
    """Return how a row ended that has lost some of its set; what was not released stays in its pool."""
    ended = _ended(outcome.found - gone, asked, outcome.tries, f" ({TAKEN_BACK})")
    return replace(ended, valid=outcome.valid - gone)


TAKEN_BACK = "the model took back others when asked again"
PROVEN = "no combination of levels within the limits changes the outcome: a solver proved it"
ALREADY = Outcome("already", "the model already gives the desired outcome; nothing has to change")


def _ends(search: Search, policy: Policy) -> Iterator[str]:
    """Yield why each row of a search has no more valid ones, where that is known."""
    # What was seen and not kept for want of room might have made a class: then nothing is certain.
    sure = search.exhausted & (search.valid < search.most) & (policy.scope == "set")
    late = search.out_of_time & (search.drawn < search.budget.tries)
    yield from np.where(sure, NO_OTHERS, np.where(late, LATE, "")).tolist()


def _outcomes(search: Search, asked: int) -> list[Outcome]:
    """Return how each row ended."""
    judged, valid = search.judged.tolist(), search.valid.tolist()
    ended = list(map(_found, repeat(asked), judged, valid))
    short = np.flatnonzero(search.question.already | search.proven | (search.valid < asked))
    if not len(short):
        return ended
    late, exhausted = search.out_of_time & (search.drawn < search.budget.tries), search.exhausted
    for row in short.tolist():
        aim = DECIDED if np.isnan(search.question.goal.low[row]) else RANGED
        if search.question.already[row]:
            ended[row] = ALREADY
        elif search.proven[row]:
            ended[row] = Outcome("infeasible", PROVEN, 0, judged[row], reason=Reason(proven=True))
        elif exhausted[row] and not valid[row]:
            obeying = int(search.obeying[row])
            sentence = _nothing_left(obeying, aim) if search.banned is None else NOTHING_FREE.format(aim=aim)
            ended[row] = Outcome("infeasible", sentence, 0, judged[row], reason=Reason(proven=True))
        elif exhausted[row]:
            others = NO_OTHERS + FREE * (search.banned is not None)
            ended[row] = _ended(valid[row], asked, judged[row], others, proven=True)
        else:
            why = LATE if late[row] else "; the search found no more, which is no proof that there are none"
            ended[row] = _ended(valid[row], asked, judged[row], why, aim)
    return ended


FREE = " that may be released"
NOTHING_FREE = f"all combinations within the limits{FREE} were tried; none {{aim}}"
"""Where some may not be released it is not told how many: that would tell of the training rows."""

DECIDED = "changes the outcome"
RANGED = "reaches the probability that was asked for"


def _nothing_left(obeying: int, aim: str) -> str:
    if not obeying:
        return "the schema and the limits allow this row no change at all"
    if obeying == 1:
        return f"the only combination within the limits was tried; it is not one that {aim}"
    return f"all {obeying} combinations within the limits were tried; none {aim}"


def _ended(valid: int, asked: int, tries: int, why: str, aim: str = DECIDED, *, proven: bool = False) -> Outcome:
    found = min(valid, asked)
    if found == asked:
        return Outcome("found", _all_found(found), found, tries, valid)
    reason = Reason(proven)
    if found:
        sentence = f"{found} of {asked} counterfactuals after {tries} tries{why}"
        return Outcome("partial", sentence, found, tries, valid, reason)
    return Outcome("none_valid", f"none of {tries} proposals {aim}{why}", 0, tries, reason=reason)


@lru_cache(maxsize=1 << 14)
def _found(asked: int, tries: int, valid: int) -> Outcome:
    """Return how a row ended that has all that was asked: most do, and many of millions alike."""
    return Outcome("found", _all_found(asked), asked, tries, valid)


@cache
def _all_found(found: int) -> str:
    return f"{found} {'counterfactual' if found == 1 else 'different counterfactuals'}"
