"""The answer to one call: from people and a request to what may leave, after the model's last word."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from l2c.adapters.bundles import Bundle
from l2c.adapters.models.range_model import RangeModel
from l2c.adapters.models.sight import see_into
from l2c.adapters.models.twins import rows_at_random
from l2c.app.ahead import MOST, Ahead, as_many_as, ask_ahead
from l2c.app.answered import answers
from l2c.app.explanations import Explanations
from l2c.app.judging import Judges, Shown
from l2c.app.people import People
from l2c.app.pooling import acceptance_at, ease_of, pools_from, selection_of
from l2c.app.processors import threads
from l2c.app.progress import Progress
from l2c.app.requests import Request
from l2c.core.blackbox import BlackBox, threshold_of
from l2c.core.explanation import Measured, Released
from l2c.core.goal import Goal
from l2c.core.layout import Layout
from l2c.core.limits import NO_LIMITS, Limits
from l2c.core.method import Question
from l2c.core.schema import Schema
from l2c.core.sight import View
from l2c.core.streams import Streams
from l2c.core.twin import Twin
from l2c.core.types import Cells, Mask, Probabilities
from l2c.core.whole_bins import over_whole_bins
from l2c.errors import InputError
from l2c.release.boxes import share_valid
from l2c.release.budget import Budget, Clock
from l2c.release.explain import Pools, Sets
from l2c.release.gather import with_answers_of, with_unreadable
from l2c.release.policy import Policy
from l2c.release.ranking import only
from l2c.release.reasons import EXPLORED, LACKING, Plea, Stack, explained, pleas_of
from l2c.release.select import AS_FOUND
from l2c.release.settle import Sight
from l2c.release.withhold import gated

REASON_TRIES = 3000
"""Proposals for a row under a limit that is relaxed to see whether it helps."""


class Told(NamedTuple):
    """What is known of the rows before the search: by a twin of the model (`foreseen`), or by the model itself.

    And what they should then reach, and which of them the twin is known to be wrong about.
    """

    proba: Probabilities
    goal: Goal
    foreseen: bool
    wrong: Mask


class Doubt(NamedTuple):
    """Which rows a twin of the model is wrong about: themselves, or something that was found for them."""

    wrong: Mask
    denied: Mask

    @classmethod
    def none(cls, rows: int) -> Doubt:
        return cls(np.zeros(rows, dtype=bool), np.zeros(rows, dtype=bool))

    def any(self) -> bool:
        """Return whether there are such rows."""
        return bool(self.wrong.any() or self.denied.any())


@dataclass(frozen=True, slots=True, eq=False)
class Answerer:
    """Whoever answers a call: a fitted method with the model as the call wants it.

    Parameters
    ----------
    aimed
        The model that the answer speaks of.
    blackbox
        The same, with the time that a question may take.
    model
        What the model was before it was wrapped; a solver may see into it.
    twin
        What judges proposals in the model's stead.
    also
        Other versions of the model, under which a counterfactual must hold too.
    """

    bundle: Bundle
    aimed: BlackBox
    blackbox: BlackBox
    model: object
    twin: Twin | None = None
    also: tuple[BlackBox, ...] = ()

    @property
    def layout(self) -> Layout:
        return self.bundle.counterer.layout

    @property
    def schema(self) -> Schema:
        return self.layout.schema

    def answer(
        self,
        people: People,
        request: Request,
        policy: Policy | None = None,
        notes: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Explanations:
        """Return what is found for people, and what the model does not take back in the end."""
        clock, notes = _clock(request.seconds), dict(notes or {})
        found, doubt = self._found(people, request, policy, notes, progress, clock)
        if not doubt.any():
            return found
        # What a twin of the model foresaw of these rows the model itself denies: it is asked about every proposal.
        plain, misled = replace(self, twin=None), doubt.wrong | doubt.denied
        if policy is not None and policy.scope == "release":
            return plain._found(people, request, policy, notes, None, clock)[0]
        again, _ = plain._found(people.only(misled), request, policy, notes, None, clock)
        if clock():
            # There was no time for all of it: what the model did confirm stands, unless the row itself is another.
            fewer = np.array([b.found < a.found for a, b in zip(found.outcomes, again.outcomes, strict=True)])
            misled &= doubt.wrong | ~fewer
        return replace(found, released=with_answers_of(found.released, again.released, misled), _built=None)

    def _found(
        self,
        people: People,
        request: Request,
        policy: Policy | None,
        notes: dict[str, Any],
        progress: Progress | None,
        clock: Clock,
    ) -> tuple[Explanations, Doubt]:
        """Return the same, and which of the rows a twin of the model misled."""
        told = self._told(people, request)
        released = self._whole(people, request, policy, progress, clock, told)
        made = (released, people.given, people.index, self.bundle.mark, notes, self.aimed, people.shape)
        return self._confirmed(Explanations(*made), people, policy, told)

    def _told(self, people: People, request: Request) -> Told | None:
        """Return what a twin of the model says of the rows, or the model where something hangs on the last digits.

        Of what the twin says the model itself is asked in the end, together with what is released. None without a twin.
        """
        if self.twin is None:
            return None
        cells, readable, threshold = people.read_cells, people.readable, threshold_of(self.blackbox)
        proba = self.twin.of_cells(cells)
        if not isinstance(self.blackbox, RangeModel):
            goal = request.goal(proba, readable, threshold)
            if not goal.ranged and self._is_clear(proba, goal):
                return Told(proba, goal, foreseen=True, wrong=np.zeros(len(cells), dtype=bool))
        own = answers(self.blackbox, cells)
        wrong = ~self.twin.agrees(proba, own)
        return Told(own, request.goal(own, readable, threshold), foreseen=False, wrong=wrong)

    def _is_clear(self, proba: Probabilities, goal: Goal) -> bool:
        """Return whether what a twin says of the rows decides, for each of them, as the model itself would."""
        assert self.twin is not None
        close, two = self.twin.close, proba.shape[1] == 2
        apart = np.abs(proba[:, 1] - proba[:, 0]) if two else np.diff(np.sort(proba, axis=1), axis=1).min(axis=1)
        decided = goal.clear(proba, close)
        if goal.margin:
            decided &= replace(goal, margin=0.0).clear(proba, close)
        return bool(((apart >= close) & decided).all())

    def _whole(
        self,
        people: People,
        request: Request,
        policy: Policy | None,
        progress: Progress | None,
        clock: Clock,
        told: Told | None,
    ) -> Released:
        """Return the release over all rows, also those that could not be read, before it is judged again."""
        readable = people.readable
        released = self._released(people.read_cells, readable, request, policy, progress, clock, told)
        if request.privacy.intervals:
            conditions = request.conditions(self.schema, readable)
            released = replace(released, share_valid=share_valid(released, (self.aimed, *self.also), conditions))
        return with_unreadable(released, readable, people.sentences, len(people.cells))

    def _confirmed(
        self, found: Explanations, people: People, policy: Policy | None, told: Told | None
    ) -> tuple[Explanations, Doubt]:
        """Return what the model, asked about the very frame that is released, does not take back.

        And of which rows a twin of the model foresaw something else than the model says. What the model itself judged
        already on such a frame is not asked again.
        """
        judges, readable, doubt = Judges(self.blackbox, self.also), people.readable, Doubt.none(len(people.cells))
        rows, cells = readable if told is not None and told.foreseen else readable[:0], people.read_cells
        known = self.twin is None and judges.were_shown(people.given, people.shape, found.mark.shape, cells)
        if told is not None:
            doubt.wrong[readable] = told.wrong
        if not len(rows) and (known or not len(found)):
            return found, doubt
        shown = Shown(people.given, people.shape, found.released, rows)
        released, proba = judges.confirmed(found.released, shown, found.mark.shape)
        if self.twin is not None and told is not None:
            if told.foreseen:
                doubt.wrong[readable] = ~self.twin.agrees(told.proba, proba)
            if len(released.row) < len(found):
                had, has = (np.bincount(row, minlength=len(people.cells)) for row in (found.released.row, released.row))
                doubt.denied[has < had] = True
        built = (found.released, shown, len(rows)) if shown.are_built else None
        released = released if policy is None else gated(policy, released)
        return replace(found, released=released, _built=built), doubt

    def over_intervals(self, request: Request) -> tuple[Answerer, Request]:
        """Return answerer and request with limits that whole intervals keep, and draws that the secret key decides."""
        standing, problems = over_whole_bins(self.schema.limits, self.layout)
        request, others = request.over_whole_bins(self.layout)
        if problems or others:
            raise InputError([*problems, *others])
        layout = replace(self.layout, schema=replace(self.schema, limits=standing))
        bundle = replace(self.bundle, counterer=replace(self.bundle.counterer, layout=layout))
        secret = self.bundle.secret
        assert secret is not None  # it was refused otherwise
        return replace(self, bundle=bundle), replace(request, seed=secret.seed)

    def _released(
        self,
        cells: Cells,
        readable: np.ndarray,
        request: Request,
        policy: Policy | None,
        progress: Progress | None,
        clock: Clock,
        told: Told | None,
    ) -> Released:
        # As many at first as it takes by what was seen when fitting: each further round is a call of the model.
        acceptance = acceptance_at(request.plausibility, self.bundle.notes["acceptance"])
        budget = Budget(request.tries, request.patience, clock, acceptance)
        ahead = self._ahead(cells, readable, request, policy, budget)
        if ahead is not None:
            proba, question, goal = ahead.proba, ahead.question, ahead.question.goal
        else:
            proba = answers(self.blackbox, cells) if told is None else told.proba
            goal = request.goal(proba, readable, threshold_of(self.blackbox)) if told is None else told.goal
            question = self.question(cells, proba, goal, self.schema, request.limits(readable))
        # A solver settles some rows of a batch, and an interval release may not depend on the batch.
        sight = None if request.privacy.intervals else self._view
        sets = request.n, selection_of(self.bundle.counterer, request.select, request.plausibility)
        pools = self.pools(
            question, request, budget, policy, sight, progress, ahead=ahead, at_once=None if policy else sets,
            doubt=True,
        )  # fmt: skip
        released = pools.release(*sets)
        if isinstance(self.blackbox, RangeModel):
            numbers = Measured(self.blackbox.prediction(cells), np.empty(len(released.row)))
            released = replace(released, measured=numbers)
        if not request.reasons or not any(outcome.status in LACKING for outcome in released.outcomes):
            return released
        return self._with_reasons(released, proba, pools.best, readable, request, policy, clock)

    def _with_reasons(
        self,
        released: Released,
        proba: Probabilities,
        best: Float64[np.ndarray, " rows"],
        readable: np.ndarray,
        request: Request,
        policy: Policy | None,
        clock: Clock,
    ) -> Released:
        """Return the release with the reason added to the outcomes of rows that got none or too few."""
        cells, goal = released.factual, released.goal
        own = policy if policy is not None and policy.scope == "set" else None

        def again(
            pleas: Sequence[Plea], stacks: Sequence[Stack], low: np.ndarray | None, *, robust: bool = True
        ) -> Released:
            if clock():
                return only(released, np.zeros(len(released.row), dtype=bool))
            rows = np.array([plea.row for plea in pleas], dtype=np.int64)
            wanted = goal.take(rows) if low is None else replace(goal.take(rows), low=low)
            asker = self if robust else replace(self, also=())
            wanted = wanted if robust else replace(wanted, margin=0.0)
            # The schema's own limits are in the stack, where they can be relaxed too.
            limits = [(limits, np.arange(len(rows)) == place) for place, stack in enumerate(stacks) for limits in stack]
            bare = replace(self.schema, limits=NO_LIMITS)
            asked = self.question(cells[rows], proba[rows], wanted, bare, limits)
            # A probability that was seen is seen again after as many draws.
            tries = request.tries if low is not None else min(request.tries, REASON_TRIES)
            # As soon as there are enough it is known that the relaxation helps: no need to fill a pool.
            enough = np.array([plea.wanted for plea in pleas])
            pool = max(request.pool, EXPLORED) if enough.max() >= EXPLORED else request.pool
            less = Budget(tries, min(tries, pool), clock)
            pools = asker.pools(asked, replace(request, pool=pool), less, own, enough=enough)
            found = pools.release(pool, AS_FOUND)
            if low is None or asker.twin is None:
                return found
            # A probability that is told is the model's own.
            chance = found.goal.judged(answers(asker.blackbox, found.cells), found.row)[1]
            return replace(found, chance=chance)

        def alone(pleas: Sequence[Plea]) -> Released:
            return again(pleas, [plea.stack for plea in pleas], None, robust=False)

        pleas = pleas_of(released, best, request.stacks(self.schema, readable))
        if policy is not own:  # what others share is not known to a few of them
            pleas = [plea for plea in pleas if not released.outcomes[plea.row].valid]
        frail = alone if request.robust else None
        return replace(released, outcomes=tuple(explained(released.outcomes, pleas, self.schema, again, frail)))

    def _ahead(
        self, cells: Cells, readable: np.ndarray, request: Request, policy: Policy | None, budget: Budget
    ) -> Ahead | None:
        """Return what a model that is not seen into says of few rows and their first proposals; None of more rows."""
        counterer, count = self.bundle.counterer, as_many_as(budget.first_round(request.pool), request.tries)
        one_by_one = self.twin is not None or self.also or policy is not None or request.privacy.intervals
        if one_by_one or len(self.blackbox.classes) != 2 or not 0 < len(cells) * (1 + 4 * count) <= MOST:
            return None
        limits, ease = request.limits(readable), ease_of(request.n, request.pool)
        return ask_ahead(
            self.blackbox,
            self.layout,
            lambda question, foreseen: counterer.proposer(
                question, Streams.for_rows(question.cells, request.seed), request.plausibility, ease, foreseen
            ),
            counterer.foresee,
            lambda proba, goal: self.question(cells, proba, goal, self.schema, limits),
            lambda proba: request.goal(proba, readable, threshold_of(self.blackbox)),
            len(cells),
            count,
            others=counterer.recipe.decode_again,
        )

    def question(
        self, cells: Cells, proba: Probabilities, goal: Goal, schema: Schema, limits: Sequence[tuple[Limits, Mask]]
    ) -> Question:
        layout = self.layout if schema is self.schema else replace(self.layout, schema=schema)
        return Question.of(layout, cells, proba, goal, decode=self.bundle.counterer.recipe.decode, limits=limits)

    def pools(
        self,
        question: Question,
        request: Request,
        budget: Budget,
        policy: Policy | None = None,
        sight: Sight | None = None,
        progress: Progress | None = None,
        enough: np.ndarray | None = None,
        ahead: Ahead | None = None,
        at_once: Sets | None = None,
        *,
        doubt: bool = False,
    ) -> Pools:
        return pools_from(
            self.bundle.counterer,
            self.blackbox if ahead is None else ahead.blackbox,
            question,
            pool=request.pool,
            enough=request.n if enough is None else enough,
            also=self.also,
            twin=self.twin,
            banned=self.bundle.secret.copies if self.bundle.secret and request.privacy.without_copies else None,
            dial=request.plausibility,
            seed=request.seed,
            budget=budget,
            policy=policy,
            sight=sight,
            progress=progress,
            proposer=None if ahead is None else ahead.proposer,
            at_once=at_once,
            threads=threads(),
            doubt=doubt,
        )

    def _view(self) -> View | None:
        """Return what can be seen of the model, whoever asks; None without a solver."""
        if importlib.util.find_spec("ortools") is None:
            return None
        return see_into(self.blackbox, self.model, self.layout, rows_at_random(self.layout))


def _clock(seconds: float | None) -> Clock:
    if seconds is None:
        return lambda: False
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end
