"""A fitted L2C with its model: ask it for counterfactuals, save it, bring it back."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64

from l2c.adapters import frames
from l2c.adapters.bundles import Bundle, digest_of, read_bundle, write_bundle
from l2c.adapters.models.deciding import described
from l2c.adapters.models.mark import ModelMark
from l2c.adapters.models.range_model import RangeModel
from l2c.adapters.models.sight import see_into
from l2c.adapters.models.twins import twin_of
from l2c.adapters.models.watch import within
from l2c.app.ahead import MOST, Ahead, as_many_as, ask_ahead
from l2c.app.aims import Robust, aimed_at, number_problems
from l2c.app.curve import PLACES, Curve, Point
from l2c.app.explanations import Explanations
from l2c.app.fitting import Progress, acceptance_at, answers, ease_of, pools_from, selection_of
from l2c.app.gate import Gate
from l2c.app.judging import Judges, Shown
from l2c.app.people import People
from l2c.app.privacy import Privacy
from l2c.app.requests import Request, checked_request, whole_number_problems
from l2c.app.streams import CHUNK, Streamed, plain_request, stream, unstreamable
from l2c.app.versions import versions
from l2c.core.blackbox import BlackBox, threshold_of
from l2c.core.explanation import Measured, Release, Released
from l2c.core.goal import Goal
from l2c.core.layout import Layout
from l2c.core.limits import NO_LIMITS, Limits
from l2c.core.memory import keep_memory
from l2c.core.method import Question
from l2c.core.schema import Schema
from l2c.core.sight import View
from l2c.core.streams import Streams
from l2c.core.twin import Twin
from l2c.core.types import Cells, Label, Mask, Probabilities
from l2c.core.whole_bins import over_whole_bins
from l2c.engine.recipe import Strategy
from l2c.errors import InputError
from l2c.release.boxes import share_valid
from l2c.release.budget import Budget, Clock
from l2c.release.explain import Pools, Sets
from l2c.release.gather import with_unreadable
from l2c.release.policy import Policy
from l2c.release.ranking import only
from l2c.release.reasons import EXPLORED, LACKING, Plea, Stack, explained, pleas_of
from l2c.release.select import Selection
from l2c.release.settle import Sight
from l2c.release.withhold import gated

REASON_TRIES = 3000
"""Proposals for a row under a limit that is relaxed to see whether it helps."""


class Foreseen(NamedTuple):
    """What a twin of the model says of the rows, and what they should then reach."""

    proba: Probabilities
    goal: Goal


@dataclass(frozen=True, slots=True, eq=False)
class Explainer:
    """A fitted L2C with its model: ask it for counterfactuals, or save it."""

    bundle: Bundle
    blackbox: BlackBox
    _model: object = None
    _fit_rows: Any = field(default=None, repr=False)
    _also: tuple[BlackBox, ...] = ()
    _twin: Twin | None = field(default=None, repr=False)

    @property
    def layout(self) -> Layout:
        """The features' levels, with their cut points and representatives."""
        return self.bundle.counterer.layout

    @property
    def schema(self) -> Schema:
        return self.layout.schema

    @property
    def classes(self) -> tuple[Label, ...]:
        """The model's class labels."""
        return self.bundle.mark.classes

    @property
    def training(self) -> str:
        """How training went, in a sentence."""
        return str(self.bundle.notes["training"])

    def explain(
        self,
        frame: Any,
        n: int = 100,
        *,
        seed: int | None = None,
        desired: Label | Iterable[Label] | None = None,
        desired_proba: tuple[float, float] | None = None,
        lock: Iterable[str] = (),
        permit: Mapping[str, Any] | None = None,
        forbid: Mapping[str, Any] | None = None,
        where: str | Iterable[str] | None = None,
        max_changes: int | None = None,
        min_sparsity: float | None = None,
        max_cost: float | None = None,
        limits: Sequence[Mapping[str, Any] | Limits | None] | None = None,
        robust: Sequence[object] | float | None = None,
        gate: Gate | None = None,
        plausibility: float | None = None,
        select: Strategy | None = None,
        pool: int | None = None,
        tries: int | None = None,
        seconds: float | None = None,
        reasons: bool = True,
        release: Release = "values",
        no_copies: bool | None = None,
        progress: Progress | None = None,
    ) -> Explanations:
        """Return counterfactuals for a batch of rows, and an outcome for each.

        Every counterfactual is valid: the original model, asked on a frame like the one given here, puts it in
        the desired class. Within a row's set all differ. The same seed gives a row the same answer whatever the
        batch and its order; a time budget is the one thing that can cut it short elsewhere.

        Parameters
        ----------
        frame
            The rows to explain; a target column is ignored.
        n
            How many counterfactuals to find for each row.
        seed
            Decides the draws; by default 0. In an interval release none may be given.
        desired
            The class to reach, or several of which any will do; by default any other than the row has. Of a model that
            predicts a number, the range (low, high) to reach; by default the one that the explainer was fitted with.
        desired_proba
            The range in which the probability of the desired class should be, instead of the model's decision.
        lock, permit, forbid, where, max_changes, min_sparsity, max_cost
            What a change must keep to, on top of the schema; see `Limits`.
        limits
            For each row, what it adds to all that: a dictionary with any of the arguments above, or None.
        robust
            Other versions of the model, such as retrained ones: a counterfactual then holds under all of them, and its
            probability is the least of them. Or a margin such as 0.1, by which the probability must be beyond the
            threshold (0.5 unless the explainer was fitted with another); of more than two classes, twice the margin
            ahead of every class that is not desired.
        gate
            A privacy policy that every released class of counterfactuals keeps; a row for which it cannot be kept is
            withheld. See `Gate`.
        plausibility
            The dial from 0 (the most diverse sets) to 1 (the most plausible); by default 0.5.
        select
            How a set is chosen: `balanced` between sparse, diverse and plausible; `diverse`; `sparse`, the fewest
            changes first; `cheap`, the least cost first; or `first`, without a choice and with the fewest questions
            to the model.
        pool
            How many valid ones to choose a set from; by default ten for each one asked, and at least 200, but no
            more than are found in two and a half times as many proposals.
        tries
            The most proposals to draw for one row; by default the larger of 20,000 and 40 for each of the pool.
        seconds
            The most time to take in all. A model that lets one question wait for longer than that is broken, and
            raises a `ModelError`.
        reasons
            Whether to find out, for rows with none or too few, which relaxation of the limits would help.
        release
            `values`, or `intervals`: then nothing leaves but levels and intervals over public edges. The rows given
            are first replaced by what stands for their intervals, and it is these that the answer is about: whether a
            row has the desired outcome already, what is valid, what a change costs. A caller's exact number comes
            back nowhere, nor does the rows' own index, and the same generalised question always gets the same
            answer. The explainer must have been fitted with `release="intervals"`.
        no_copies
            Whether nothing leaves that equals a training row in every level; by default so in interval releases.
        progress
            Called with the rows done and the rows there are.
        """
        privacy = Privacy(release, no_copies)
        people = self._people(frame, privacy)
        aimed, desired = aimed_at(self.blackbox, desired)
        wish = {
            "desired": desired, "desired_proba": desired_proba, "lock": lock, "permit": permit, "forbid": forbid,
            "where": where, "max_changes": max_changes, "min_sparsity": min_sparsity, "max_cost": max_cost,
        }  # fmt: skip
        request = checked_request(
            self.bundle.counterer.recipe, self.classes, self.schema, rows=len(people.cells), n=n, seed=seed,
            tries=tries, seconds=seconds, plausibility=plausibility, select=select, pool=pool, wish=wish,
            by_row=limits, reasons=reasons, robust=Robust.of(robust), gate=gate, privacy=privacy,
            refused=self._refused(privacy, seed, seconds),
        )  # fmt: skip
        asked = self._asked(aimed, request, [wish, *(row for row in limits or () if isinstance(row, Mapping))])
        if privacy.intervals:
            asked, request = asked._over_intervals(request)
        policy = gate.policy(self.layout, self.classes) if gate else None
        notes = {**request.to_dict(), **described(aimed), "fit": dict(self.bundle.notes), **versions()}

        def found(asked: Explainer) -> tuple[Explanations, bool]:
            foreseen = asked._foreseen(people, request)
            released = asked._whole(people, request, policy, aimed, progress, foreseen)
            told = (released, people.given, people.index, asked.bundle.mark, notes, aimed, people.shape)
            unjudged = Explanations(*told)
            return asked._confirmed(unjudged, people, policy, foreseen)

        explanations, misled = found(asked)
        if misled:
            # What a twin of the model foresaw the model itself denies: it is asked about every proposal.
            explanations, _ = found(replace(asked, _twin=None))
        return explanations

    def _foreseen(self, people: People, request: Request) -> Foreseen | None:
        """Return what a twin of the model says of the rows, if nothing hangs on its last digits; None to ask the model.

        The model itself is then asked about them in the end, together with what is released.
        """
        if self._twin is None or isinstance(self.blackbox, RangeModel):
            return None
        proba = self._twin.of_cells(people.read_cells)
        goal, close = request.goal(proba, people.readable, threshold_of(self.blackbox)), self._twin.close
        if goal.ranged:
            return None
        two = proba.shape[1] == 2
        apart = np.abs(proba[:, 1] - proba[:, 0]) if two else np.diff(np.sort(proba, axis=1), axis=1).min(axis=1)
        decided = goal.clear(proba, close)
        if goal.margin:
            decided &= replace(goal, margin=0.0).clear(proba, close)
        return Foreseen(proba, goal) if ((apart >= close) & decided).all() else None

    def _whole(
        self,
        people: People,
        request: Request,
        policy: Policy | None,
        aimed: BlackBox,
        progress: Progress | None,
        foreseen: Foreseen | None = None,
    ) -> Released:
        """Return the release over all rows, also those that could not be read, before it is judged again."""
        readable = people.readable
        released = self._released(people.read_cells, readable, request, policy, progress, foreseen)
        if request.privacy.intervals:
            conditions = request.conditions(self.schema, readable)
            released = replace(released, share_valid=share_valid(released, (aimed, *self._also), conditions))
        return with_unreadable(released, readable, people.sentences, len(people.cells))

    def _confirmed(
        self, found: Explanations, people: People, policy: Policy | None, foreseen: Foreseen | None
    ) -> tuple[Explanations, bool]:
        """Return what the model, asked about the very frame that is released, does not take back.

        And whether a twin of the model foresaw something else than the model says. What the model itself judged already
        on such a frame is not asked again.
        """
        judges, readable = Judges(self.blackbox, self._also), people.readable
        rows, cells = readable if foreseen is not None else readable[:0], people.read_cells
        known = self._twin is None and judges.were_shown(people.given, people.shape, found.mark.shape, cells)
        if not len(rows) and (known or not len(found)):
            return found, False
        shown = Shown(people.given, people.shape, found.released, rows)
        released, proba = judges.confirmed(found.released, shown, found.mark.shape)
        taken_back = len(released.row) < len(found)
        misled = self._twin is not None and (
            taken_back or not (foreseen is None or self._twin.agrees(foreseen.proba, proba))
        )
        built = (found.released, shown, len(rows)) if shown.are_built else None
        released = released if policy is None else gated(policy, released)
        return replace(found, released=released, _built=built), misled

    def _people(self, frame: Any, privacy: Privacy) -> People:
        if privacy.intervals and self.bundle.release == "intervals":
            return People.generalised(frame, self.layout, self.bundle.mark.shape)
        return People.read(frame, self.schema, self.bundle.mark.shape)

    def _refused(self, privacy: Privacy, seed: int | None, seconds: float | None) -> Iterator[str]:
        remembers, fitted_for = self.bundle.secret is not None, self.bundle.release
        return privacy.problems(remembers=remembers, fitted_for=fitted_for, seed=seed, seconds=seconds)

    def _over_intervals(self, request: Request) -> tuple[Explainer, Request]:
        """Return explainer and request with limits that whole intervals keep, and draws that the secret key decides."""
        standing, problems = over_whole_bins(self.schema.limits, self.layout)
        request, others = request.over_whole_bins(self.layout)
        if problems or others:
            raise InputError([*problems, *others])
        layout = replace(self.layout, schema=replace(self.schema, limits=standing))
        bundle = replace(self.bundle, counterer=replace(self.bundle.counterer, layout=layout))
        secret = self.bundle.secret
        assert secret is not None  # it was refused otherwise
        return replace(self, bundle=bundle), replace(request, seed=secret.seed)

    def explain_stream(
        self,
        source: str | Path | Iterable[Any],
        out: str | Path,
        n: int = 100,
        *,
        chunk: int = CHUNK,
        progress: Progress | None = None,
        **asked: Any,
    ) -> Streamed:
        """Explain a table of any length in bounded memory, and return how it went.

        What is found is written as it comes, a Parquet file for each chunk, to a folder that any tool reads as one
        table and `l2c.read` as explanations, at any time. A run that was ended goes on where it stopped when it is
        called again with the same request. A row gets the same answer as from `explain`.

        Parameters
        ----------
        source
            A CSV or Parquet file, or frames as they come. To go on with frames, the same ones must come again.
        out
            The folder.
        n
            How many counterfactuals to find for each row.
        chunk
            How many rows to explain at once.
        progress
            Called with the rows done and the rows there are; where these are not known, with the rows done.
        asked
            Whatever else `explain` takes, but for `limits` and `seconds`.
        """
        problems = [*unstreamable(asked), *whole_number_problems(("chunk", chunk, 1))]
        if problems:
            raise InputError(problems)
        chunks = frames.chunks_of(source, self.schema, chunk)
        request = {"n": n, "chunk": chunk, **plain_request(asked), "bundle": digest_of(self.bundle)}
        privacy = Privacy(asked.get("release", "values"), asked.get("no_copies"))
        return stream(
            lambda frame: self.explain(frame, n, **asked),
            lambda frame: self._people(frame, privacy).cells,
            chunks, Path(out), request, progress,
        )  # fmt: skip

    def _asked(self, aimed: BlackBox, request: Request, wishes: Sequence[Mapping[str, Any]]) -> Explainer:
        """Return the explainer as one call wants it: with its range, other versions of the model, and a deadline."""
        problems = [*request.robust.problems(aimed, wishes), *number_problems(aimed, wishes)]
        if problems:
            raise InputError(problems)
        bundle, seconds = self.bundle, request.seconds
        model = aimed if seconds is None else within(aimed, seconds)
        twin = self._twin
        if aimed is not self.blackbox:
            bundle, twin = replace(bundle, mark=ModelMark.of(model, bundle.mark.shape, self.layout)), None
        also = request.robust.versions(bundle.mark, self.layout, seconds)
        hurried = also if seconds is None else tuple(within(version, seconds) for version in also)
        if model is self.blackbox and not also and not self._also:
            return self
        # Of other versions there is no twin, and what they take back another search would only offer again.
        return replace(self, bundle=bundle, blackbox=model, _also=hurried, _twin=None if also else twin)

    def curve(
        self,
        frame: Any,
        reference: Any = None,
        *,
        n: int = 100,
        places: Sequence[float] = PLACES,
        seed: int = 0,
        pool: int | None = None,
    ) -> Curve:
        """Return the metrics along the dial on rows of yours, best on some that were not learned from.

        Parameters
        ----------
        frame
            The rows to explain.
        reference
            Real rows to measure plausibility against; by default those that were learned from, if the explainer
            was fitted just now: a saved one holds no rows.
        n, seed, pool
            As `explain` takes them.
        places
            Where to measure, from 0 to 1.
        """
        if reference is None and self._fit_rows is None:
            raise InputError("a saved explainer holds no rows to measure against: give reference=df_train")
        points = []
        for place in places:
            found = self.explain(frame, n, seed=seed, plausibility=place, pool=pool)
            scores = found.scores(self._fit_rows if reference is None else reference)
            tries = found.released.tries
            points.append(Point(place, scores, found.released.pooled / tries if tries else None))
        return Curve(tuple(points))

    def _released(
        self,
        cells: Cells,
        readable: np.ndarray,
        request: Request,
        policy: Policy | None,
        progress: Progress | None,
        foreseen: Foreseen | None = None,
    ) -> Released:
        clock = _clock(request.seconds)
        # As many at first as it takes by what was seen when fitting: each further round is a call of the model.
        acceptance = acceptance_at(request.plausibility, self.bundle.notes["acceptance"])
        budget = Budget(request.tries, request.patience, clock, acceptance)
        ahead = self._ahead(cells, readable, request, policy, budget)
        if ahead is not None:
            proba, question, goal = ahead.proba, ahead.question, ahead.question.goal
        else:
            if foreseen is not None:
                proba, goal = foreseen
            else:
                proba = answers(self.blackbox, cells)
                if self._twin is not None and not self._twin.agrees(self._twin.of_cells(cells), proba):
                    return replace(self, _twin=None)._released(cells, readable, request, policy, progress)
                goal = request.goal(proba, readable, threshold_of(self.blackbox))
            question = self._question(cells, proba, goal, self.schema, request.limits(readable))
        # A solver settles some rows of a batch, and an interval release may not depend on the batch.
        sight = None if request.privacy.intervals else lambda: self._view(cells)
        sets = request.n, selection_of(self.bundle.counterer, request.select, request.plausibility)
        pools = self._pools(
            question, request, budget, policy, sight, progress, ahead=ahead, at_once=None if policy else sets
        )
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
            asker = self if robust else replace(self, _also=())
            wanted = wanted if robust else replace(wanted, margin=0.0)
            # The schema's own limits are in the stack, where they can be relaxed too.
            limits = [(limits, np.arange(len(rows)) == place) for place, stack in enumerate(stacks) for limits in stack]
            bare = replace(self.schema, limits=NO_LIMITS)
            asked = self._question(cells[rows], proba[rows], wanted, bare, limits)
            # A probability that was seen is seen again after as many draws.
            tries = request.tries if low is not None else min(request.tries, REASON_TRIES)
            # As soon as there are enough it is known that the relaxation helps: no need to fill a pool.
            enough = np.array([plea.wanted for plea in pleas])
            pool = max(request.pool, EXPLORED) if enough.max() >= EXPLORED else request.pool
            less = Budget(tries, min(tries, pool), clock)
            pools = asker._pools(asked, replace(request, pool=pool), less, own, enough=enough)
            return pools.release(pool, Selection())

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
        one_by_one = self._twin is not None or self._also or policy is not None or request.privacy.intervals
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
            lambda proba, goal: self._question(cells, proba, goal, self.schema, limits),
            lambda proba: request.goal(proba, readable, threshold_of(self.blackbox)),
            len(cells),
            count,
            others=counterer.recipe.decode_again,
        )

    def _question(
        self, cells: Cells, proba: Probabilities, goal: Goal, schema: Schema, limits: Sequence[tuple[Limits, Mask]]
    ) -> Question:
        layout = self.layout if schema is self.schema else replace(self.layout, schema=schema)
        return Question.of(layout, cells, proba, goal, decode=self.bundle.counterer.recipe.decode, limits=limits)

    def _pools(
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
    ) -> Pools:
        return pools_from(
            self.bundle.counterer,
            self.blackbox if ahead is None else ahead.blackbox,
            question,
            pool=request.pool,
            enough=request.n if enough is None else enough,
            also=self._also,
            twin=self._twin,
            banned=self.bundle.secret.copies if self.bundle.secret and request.privacy.without_copies else None,
            dial=request.plausibility,
            seed=request.seed,
            budget=budget,
            policy=policy,
            sight=sight,
            progress=progress,
            proposer=None if ahead is None else ahead.proposer,
            at_once=at_once,
        )

    def _view(self, cells: Cells) -> View | None:
        """Return what can be seen of the model, checked on the rows that are explained; None without a solver."""
        if importlib.util.find_spec("ortools") is None:
            return None
        return see_into(self.blackbox, self._model, self.layout, cells)

    def save(self, folder: str | Path) -> None:
        """Write the explainer to a folder, without the model; `l2c.load` reads it back."""
        write_bundle(self.bundle, Path(folder))


def load(folder: str | Path, *, model: object) -> Explainer:
    """Return a saved explainer, for the model that it was fitted to and no other.

    Raises
    ------
    StoredFileError
        If the folder is damaged, foreign or of another version.
    OtherModelError
        If the model answers the bundle's probe rows differently.
    """
    keep_memory()
    bundle = read_bundle(Path(folder))
    blackbox = bundle.mark.recognise(model, bundle.counterer.layout, str(folder))
    twin = twin_of(blackbox, bundle.counterer.layout, model) if bundle.notes.get("twin") else None
    return Explainer(bundle, blackbox, model, _twin=twin)


def _clock(seconds: float | None) -> Clock:
    if seconds is None:
        return lambda: False
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end
