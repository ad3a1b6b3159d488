"""A fitted L2C with its model: ask it for counterfactuals, save it, bring it back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from l2c.adapters import frames
from l2c.adapters.bundles import Bundle, read_bundle, write_bundle
from l2c.adapters.models import FrameModel
from l2c.app.curve import PLACES, Curve, Point
from l2c.app.explanations import Explanations
from l2c.app.fitting import Progress, pools_from, question_of, selection_of
from l2c.app.requests import Request, checked_request
from l2c.app.versions import versions
from l2c.core.blackbox import BlackBox
from l2c.core.explanation import Released
from l2c.core.layout import Layout
from l2c.core.schema import Schema
from l2c.core.types import Cells, Label, Probabilities
from l2c.engine.recipe import Strategy
from l2c.errors import InputError
from l2c.release.explain import confirm
from l2c.release.gather import with_unreadable
from l2c.release.search import Budget


@dataclass(frozen=True, slots=True, eq=False)
class Explainer:
    """A fitted L2C with its model: ask it for counterfactuals, or save it."""

    bundle: Bundle
    blackbox: BlackBox
    _fit_rows: Any = None

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
        seed: int = 0,
        desired: Label | None = None,
        plausibility: float | None = None,
        select: Strategy | None = None,
        pool: int | None = None,
        tries: int | None = None,
        seconds: float | None = None,
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
            Decides the draws.
        desired
            The class to reach; by default the other one of two.
        plausibility
            The dial from 0 (the most diverse sets) to 1 (the most plausible); by default 0.5.
        select
            How a set is chosen: `balanced` between sparse, diverse and plausible; `diverse`; `sparse`, the fewest
            changes first; or `first`, without a choice and with the fewest questions to the model.
        pool
            How many valid ones to choose a set from; by default ten for each one asked, and at least 200.
        tries
            The most proposals to draw for one row; by default the larger of 20,000 and 40 for each of the pool.
        seconds
            The most time to take in all.
        progress
            Called with the rows done and the rows there are.
        """
        request = checked_request(
            self.bundle.counterer.recipe, self.classes, n=n, seed=seed, desired=desired, tries=tries,
            seconds=seconds, plausibility=plausibility, select=select, pool=pool,
        )  # fmt: skip
        reading = frames.read(frame, self.schema)
        readable = np.flatnonzero(~reading.bad_rows)
        released = self._released(reading.cells[readable], request, progress)
        released = with_unreadable(released, readable, _sentences(reading), len(reading.cells))
        notes = {**request.to_dict(), "fit": dict(self.bundle.notes), **versions()}
        features, index = frames.features_of(frame, self.schema), frames.index_of(frame)
        found = Explanations(released, features, index, self.bundle.mark, notes, self.blackbox)
        if not len(found):
            return found
        return replace(found, released=confirm(released, self._judged_again(found.features())))

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

    def _released(self, cells: Cells, request: Request, progress: Progress | None) -> Released:
        counterer = self.bundle.counterer
        pools = pools_from(
            counterer,
            self.blackbox,
            question_of(self.layout, self.blackbox, cells, request.desired),
            pool=request.pool,
            dial=request.plausibility,
            seed=request.seed,
            budget=Budget(request.tries, _clock(request.seconds)),
            progress=progress,
        )
        return pools.release(request.n, selection_of(counterer, request.select, request.plausibility))

    def _judged_again(self, features: Any) -> Probabilities:
        """Return the original model's answers on the very frame that is released."""
        shape = self.bundle.mark.shape
        if isinstance(self.blackbox, FrameModel) and frames.kind_of(features) == shape.kind:
            return self.blackbox.of_frame(shape.arrange(features), frames.height(features))
        return self.blackbox.proba(frames.strict(frames.read(features, self.schema)))

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
    bundle = read_bundle(Path(folder))
    blackbox = bundle.mark.recognise(model, bundle.counterer.layout, str(folder))
    return Explainer(bundle, blackbox)


def _sentences(reading: frames.Reading) -> dict[int, str]:
    """Return what is wrong with each row that cannot be read."""
    sentences: dict[int, str] = {}
    for problem in reading.problems:
        earlier = sentences.get(problem.row)
        sentences[problem.row] = f"{earlier}; {problem.sentence}" if earlier else problem.sentence
    return sentences


def _clock(seconds: float | None) -> Callable[[], bool]:
    if seconds is None:
        return lambda: False
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end
