"""From proposals to what may leave: a release for a batch of rows, with an outcome for every one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from l2c.core.blackbox import BlackBox, puts_in
from l2c.core.explanation import Outcome, Released
from l2c.core.layout import Layout
from l2c.core.method import Proposer, Question
from l2c.core.types import Probabilities
from l2c.release import search
from l2c.release.search import Budget, Manner, Search, joined, ranks
from l2c.release.select import Selection


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """What was found for a batch of rows, before sets are chosen from it."""

    question: Question
    searches: tuple[Search, ...]

    def release(self, asked: int, selection: Selection) -> Released:
        """Return the release with sets of at most `asked`, each row's counterfactuals together and in order."""
        first = self.searches[0]
        sets = [(looked.start, looked.chosen(asked, selection)) for looked in self.searches]
        found = joined([replace(kept, row=kept.row + start) for start, kept in sets], len(first.layout.axes))
        return Released(
            layout=first.layout,
            classes=first.blackbox.classes,
            asked=asked,
            factual=self.question.cells,
            current=self.question.current,
            desired=self.question.desired,
            outcomes=tuple(outcome for looked in self.searches for outcome in _outcomes(looked, asked)),
            row=found.row,
            rank=ranks(found.row),
            levels=found.levels,
            cells=found.cells,
            chance=found.chance,
            valid=np.ones(len(found.row), dtype=bool),
        )


def look(
    question: Question,
    *,
    layout: Layout,
    blackbox: BlackBox,
    proposer: Proposer,
    manner: Manner,
    pool: int,
    budget: Budget,
    progress: Callable[[int, int], None] | None = None,
) -> Pools:
    """Return up to `pool` different valid counterfactuals for every row of a batch that can be read.

    Rows that have the desired outcome already get none, and are told so.
    """
    rows = len(question.cells)
    searches = []
    step = max(1, search.BLOCK // pool)
    for start in range(0, max(rows, 1), step):  # no row at all is one empty chunk
        chunk = question.take(np.arange(start, min(rows, start + step)))
        looking = Search(layout, chunk, blackbox, proposer, manner, pool, budget, start)
        looking.out_of_time = start > 0 and budget.expired()
        looking.run()
        searches.append(looking)
        if progress:
            progress(start + len(chunk.cells), rows)
    return Pools(question, tuple(searches))


def confirm(released: Released, proba: Probabilities) -> Released:
    """Return the release without what the original model, asked again, does not put in the desired class."""
    valid = puts_in(proba, released.desired[released.row])
    chance = np.take_along_axis(proba, released.desired[released.row][:, None], axis=1)[:, 0]
    if valid.all():
        return replace(released, chance=chance)
    lost = np.bincount(released.row[~valid], minlength=len(released.outcomes))
    outcomes = tuple(
        _taken_back(outcome, int(gone), released.asked) if gone else outcome
        for outcome, gone in zip(released.outcomes, lost, strict=True)
    )
    return replace(
        released,
        outcomes=outcomes,
        row=released.row[valid],
        rank=ranks(released.row[valid]),
        levels=released.levels[valid],
        cells=released.cells[valid],
        chance=chance[valid],
        valid=valid[valid],
    )


def _taken_back(outcome: Outcome, gone: int, asked: int) -> Outcome:
    """Return how a row ended that has lost some of its set; what was not released stays in its pool."""
    why = " (the model took back others when asked again)"
    return replace(_ended(outcome.found - gone, asked, outcome.tries, why), valid=outcome.valid - gone)


ALREADY = Outcome("already", "the model already gives the desired outcome; nothing has to change")


def _outcomes(search: Search, asked: int) -> Iterator[Outcome]:
    cut_short = search.out_of_time & (search.drawn < search.budget.tries)
    counts = (search.valid.tolist(), search.judged.tolist(), search.different.tolist())
    for already, exhausted, late, valid, tries, different in zip(
        search.already, search.exhausted, cut_short, *counts, strict=True
    ):
        if already:
            yield ALREADY
        elif exhausted and not valid:
            # The row itself is one of the different ones, and a combination may have been judged twice.
            sentence = f"all {different - 1} combinations that the schema allows were tried; none changes the outcome"
            sentence = sentence if tries else "the schema allows this row no change at all"
            yield Outcome("infeasible", sentence, 0, tries)
        elif exhausted:
            yield _ended(valid, asked, tries, "; the schema allows no others")
        elif late:
            yield _ended(valid, asked, tries, "; the time budget ended")
        else:
            yield _ended(valid, asked, tries, "; allow more tries, or let more features move")


def _ended(valid: int, asked: int, tries: int, why: str) -> Outcome:
    found = min(valid, asked)
    if found == asked:
        ones = "counterfactual" if found == 1 else "different counterfactuals"
        return Outcome("found", f"{found} {ones}", found, tries, valid)
    if found:
        return Outcome("partial", f"{found} of {asked} counterfactuals after {tries} tries{why}", found, tries, valid)
    return Outcome("none_valid", f"none of {tries} proposals changes the outcome{why}", 0, tries)
