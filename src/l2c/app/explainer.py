"""A fitted L2C with its model: ask it for counterfactuals, save it, bring it back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from l2c.adapters import frames
from l2c.adapters.bundles import Bundle, read_bundle, write_bundle
from l2c.adapters.frames import Chunk, Source
from l2c.adapters.models.deciding import described
from l2c.adapters.models.mark import ModelMark
from l2c.adapters.models.twins import twin_of
from l2c.adapters.models.watch import within
from l2c.app.aims import aimed_at, number_problems
from l2c.app.answering import Answerer
from l2c.app.asked import Asked
from l2c.app.begun import begun_with
from l2c.app.call import Call
from l2c.app.curve import PLACES, Curve, Point
from l2c.app.explanations import Explanations
from l2c.app.gate import Gate
from l2c.app.people import People
from l2c.app.privacy import Privacy
from l2c.app.progress import Progress
from l2c.app.requests import Request, checked_request
from l2c.app.streams import CHUNK, Streamed, asked_of_a_stream, stream
from l2c.app.versions import versions
from l2c.core.blackbox import BlackBox
from l2c.core.explanation import Release
from l2c.core.layout import Layout
from l2c.core.limits import Limits
from l2c.core.memory import keep_memory
from l2c.core.schema import Schema
from l2c.core.twin import Twin
from l2c.core.types import Label
from l2c.engine.recipe import Strategy
from l2c.errors import DataError, InputError


@dataclass(frozen=True, slots=True, eq=False)
class Explainer:
    """A fitted L2C with its model: ask it for counterfactuals, or save it."""

    bundle: Bundle
    blackbox: BlackBox
    _model: object = None
    _fit_rows: Any = field(default=None, repr=False)
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
        batch and its order; a time budget can cut it short elsewhere, and of hundreds of rows for which nothing is
        found a solver, where there is one, settles the first 200 alone.

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
            The most proposals to draw for one row; by default the larger of 20,000 and 40 for each of the pool. One
            that is not valid may be judged once more, with the other values of its bins.
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
        asked = Asked(
            n=n, seed=seed, desired=desired, desired_proba=desired_proba, lock=lock, permit=permit, forbid=forbid,
            where=where, max_changes=max_changes, min_sparsity=min_sparsity, max_cost=max_cost, limits=limits,
            robust=robust, gate=gate, plausibility=plausibility, select=select, pool=pool, tries=tries, seconds=seconds,
            reasons=reasons, release=release, no_copies=no_copies,
        )  # fmt: skip
        if isinstance(frame, str | Path | Iterator):
            raise DataError(
                f"expected a data frame (pandas, polars or Arrow), got {type(frame).__name__}; explain_stream explains "
                "a file, or frames as they come"
            )
        people = self._people(frame, asked.privacy)
        return self._call(asked, len(people.cells)).answer(people, progress)

    def _call(self, asked: Asked, rows: int) -> Call:
        """Return what is asked about so many rows, checked, with whoever answers it."""
        privacy, gate = asked.privacy, asked.gate
        aimed, desired = aimed_at(self.blackbox, asked.desired)
        wish = asked.wish | {"desired": desired}
        request = checked_request(
            asked, self.bundle.counterer.recipe, self.classes, self.schema, rows=rows, wish=wish,
            refused=self._refused(privacy, asked.seed, asked.seconds),
        )  # fmt: skip
        by_row = [row for row in asked.limits or () if isinstance(row, Mapping)]
        answerer = self._answerer(aimed, request, [wish, *by_row])
        if privacy.intervals:
            answerer, request = answerer.over_intervals(request)
        policy = gate.policy(self.layout, self.classes) if gate else None
        notes = {**request.to_dict(), **described(aimed), "fit": dict(self.bundle.notes), **versions()}
        return Call(answerer, request, policy, notes)

    def _answerer(self, aimed: BlackBox, request: Request, wishes: Sequence[Mapping[str, Any]]) -> Answerer:
        """Return who answers a call: with its range, other versions of the model, and a deadline."""
        problems = [*request.robust.problems(aimed, wishes), *number_problems(aimed, wishes)]
        if problems:
            raise InputError(problems)
        bundle, seconds, twin = self.bundle, request.seconds, self._twin
        model = aimed if seconds is None else within(aimed, seconds)
        if aimed is not self.blackbox:
            bundle, twin = replace(bundle, mark=ModelMark.of(model, bundle.mark.shape, self.layout)), None
        also = request.robust.versions(bundle.mark, self.layout, seconds)
        hurried = also if seconds is None else tuple(within(version, seconds) for version in also)
        # Of other versions there is no twin, and what they take back another search would only offer again.
        return Answerer(bundle, aimed, model, self._model, None if also else twin, hurried)

    def _people(self, frame: Any, privacy: Privacy, first: int = 0, labels: Sequence[object] | None = None) -> People:
        shape = self.bundle.mark.shape
        if privacy.intervals and self.bundle.release == "intervals":
            return People.generalised(frame, self.layout, shape, first=first)
        return People.read(frame, self.schema, shape, first=first, labels=labels)

    def _refused(self, privacy: Privacy, seed: int | None, seconds: float | None) -> Iterator[str]:
        remembers, fitted_for = self.bundle.secret is not None, self.bundle.release
        return privacy.problems(remembers=remembers, fitted_for=fitted_for, seed=seed, seconds=seconds)

    def explain_stream(
        self,
        source: Source,
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
        called again with the same request; one at a time may write to a folder. A row gets the same answer as from
        `explain`, called for its chunk: of hundreds of rows for which nothing is found a solver, where there is one,
        settles the first 200 of each.

        Parameters
        ----------
        source
            A CSV or Parquet file, a frame, or frames as they come. To go on, the same rows must come again, cut in the
            same pieces; of what was not done yet they may be corrected. The first frame settles the types that all are
            stored in.
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
        wanted = asked_of_a_stream(n, chunk, asked)
        chunks = frames.chunks_of(source, self.schema, int(chunk))
        call = self._call(wanted, 0)

        def read(some: Chunk, first: int) -> People:
            labels = None if some.labels is None else some.labels.to_pylist()
            return self._people(some.frame, wanted.privacy, first, labels)

        return stream(call, read, chunks, Path(out), begun_with(call, self.bundle, int(chunk)), progress)

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
