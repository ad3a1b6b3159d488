"""The front door: `L2C().fit(...)` learns an explainer, `explain` asks it, `load` brings one back."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from l2c.adapters import frames
from l2c.adapters.bundles import Bundle, read_bundle, write_bundle
from l2c.adapters.models import FrameModel, as_blackbox, differentiable
from l2c.app.explanations import Explanations
from l2c.core.blackbox import BlackBox, decide
from l2c.core.explanation import Released
from l2c.core.fingerprint import fingerprint, same_model
from l2c.core.layout import Layout
from l2c.core.method import Question
from l2c.core.schema import Schema
from l2c.core.split import dev_rows
from l2c.core.streams import Streams
from l2c.core.types import Cells, Label, Probabilities
from l2c.engine.discretise import discretise
from l2c.engine.encode import Encoder
from l2c.engine.propose import Counterer
from l2c.engine.recipe import PAPER, Recipe
from l2c.errors import DataError, InputError, MissingExtraError, OtherModelError, nearest
from l2c.release.explain import Budget, confirm
from l2c.release.explain import explain as release
from l2c.release.gather import with_unreadable

EXAMPLES = 8
"""Rows on which a model is tried before anything else is done."""

Progress = Callable[[int, int], None]
"""Called with the work done and the work in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class L2C(Recipe):
    """Learning to Counter: a configuration, whose `fit` returns an explainer.

    See `Recipe` for the settings; `L2C()` needs none, and `L2C.paper()` is the paper's.

    Examples
    --------
    >>> L2C(selector="constant", selection=0.5).selection
    0.5
    """

    @classmethod
    def paper(cls, **changes: Any) -> L2C:
        """Return the preset of the paper's text, with some settings changed if given."""
        settings = {name: getattr(PAPER, name) for name in Recipe.__dataclass_fields__}
        return cls(**(settings | changes))

    def fit(
        self,
        frame: Any,
        model: object,
        schema: Schema,
        *,
        seed: int = 0,
        dev: Any = None,
        progress: Progress | None = None,
    ) -> Explainer:
        """Return an explainer for a model, learned from training rows.

        Parameters
        ----------
        frame
            The training rows; a target column is ignored.
        model
            A fitted scikit-learn classifier or pipeline, a `TorchModel`, or a function from a frame to
            probabilities.
        schema
            What the features are and how they may move.
        seed
            Decides every random choice: the dev split, the networks, the training noise.
        dev
            Rows that choose the checkpoint; by default a fifth of the training rows, which then are not learned
            from.
        progress
            Called after each epoch with the epochs done and the most there can be.
        """
        problems = list(_whole_number_problems(("seed", seed, 0)))
        if problems:
            raise InputError(problems)
        seed = int(seed)
        cells = frames.strict(frames.read(frame, schema))
        shape = frames.shape_of(frame, schema)
        blackbox = as_blackbox(model, shape, cells[:EXAMPLES])
        fit, held_out = _split(cells, seed) if dev is None else (cells, frames.strict(frames.read(dev, schema)))
        layout = discretise(schema, fit, decide(blackbox.proba(fit)))
        recipe = Recipe(**{name: getattr(self, name) for name in Recipe.__dataclass_fields__})
        counterer, training = _trained(recipe, layout, blackbox, fit, held_out, seed, progress)
        notes = {
            "training": training,
            "seed": seed,
            "fit_rows": len(fit),
            "dev_rows": len(held_out),
            **_versions(),
        }
        bundle = Bundle(counterer, shape, blackbox.classes, fingerprint(blackbox, layout), notes)
        return Explainer(bundle, blackbox)


@dataclass(frozen=True, slots=True, eq=False)
class Explainer:
    """A fitted L2C with its model: ask it for counterfactuals, or save it."""

    bundle: Bundle
    blackbox: BlackBox

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
        return self.bundle.classes

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
        tries
            The most proposals to draw for one row; by default the larger of 10,000 and 100 for each one asked.
        seconds
            The most time to take in all.
        progress
            Called with the rows done and the rows there are.
        """
        goal = self._checked(n, seed, desired, tries, seconds)
        n, seed = int(n), int(seed)
        reading = frames.read(frame, self.schema)
        readable = np.flatnonzero(~reading.bad_rows)
        budget = Budget(tries or max(10_000, 100 * n), _clock(seconds))
        released = self._released(reading.cells[readable], n, seed, goal, budget, progress)
        released = with_unreadable(released, readable, _sentences(reading), len(reading.cells))
        notes = {"seed": seed, "fit": dict(self.bundle.notes), **_versions()}
        found = Explanations(
            released, frames.features_of(frame, self.schema), frames.index_of(frame), notes, self.blackbox
        )
        if not len(found):
            return found
        return replace(found, released=confirm(released, self._judged_again(found.features())))

    def _checked(
        self, n: int, seed: int, desired: Label | None, tries: int | None, seconds: float | None
    ) -> int | None:
        """Return the index of the desired class, or raise with every problem of the request."""
        counts = [("n", n, 1), ("seed", seed, 0)] + ([] if tries is None else [("tries", tries, 1)])
        problems = list(_whole_number_problems(*counts))
        if seconds is not None and not (isinstance(seconds, int | float | np.number) and seconds > 0):
            problems.append(f"seconds must be above 0, not {seconds!r}")
        if desired is None and len(self.classes) != 2:
            problems.append(f"the model has {len(self.classes)} classes: say which is desired, of {self.classes}")
        if desired is not None and desired not in self.classes:
            problems.append(
                f"desired {desired!r} is no class of the model; its classes are "
                f"{', '.join(map(repr, self.classes))}{nearest(desired, self.classes)}"
            )
        if problems:
            raise InputError(problems)
        return None if desired is None else self.classes.index(desired)

    def _released(
        self, cells: Cells, n: int, seed: int, goal: int | None, budget: Budget, progress: Progress | None
    ) -> Released:
        question = _question(self.layout, self.blackbox, cells, goal)
        counterer = self.bundle.counterer
        return release(
            question,
            layout=self.layout,
            blackbox=self.blackbox,
            proposer=counterer.proposer(question, Streams.for_rows(cells, seed)),
            decode=counterer.recipe.decode,
            asked=n,
            budget=budget,
            progress=progress,
        )

    def _judged_again(self, features: Any) -> Probabilities:
        """Return the original model's answers on the very frame that is released."""
        shape = self.bundle.shape
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
    layout = bundle.counterer.layout
    blackbox = as_blackbox(model, bundle.shape, layout.values(np.zeros((1, len(layout.axes)), np.int16), "median"))
    if blackbox.classes != bundle.classes:
        raise OtherModelError(f"{folder} was made with a model of the classes {bundle.classes}, not {blackbox.classes}")
    if not same_model(bundle.fingerprint, fingerprint(blackbox, layout)):
        raise OtherModelError(f"{folder} was made with another model: this one answers its probe rows differently")
    return Explainer(bundle, blackbox)


def _whole_number_problems(*given: tuple[str, object, int]) -> Iterator[str]:
    """Yield what is wrong with numbers that the caller gave, each with its name and the least it may be."""
    for name, value, least in given:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            yield f"{name} must be a whole number, not {value!r}"
        elif value < least:
            yield f"{name} must be at least {least}, not {value}"


def _split(cells: Cells, seed: int) -> tuple[Cells, Cells]:
    """Return fit and dev rows, each in the order given."""
    if len(cells) < 10:
        raise DataError(f"{len(cells)} training rows are too few to learn from: at least 10 are needed")
    held_out = dev_rows(len(cells), seed)
    return cells[~held_out], cells[held_out]


def _question(layout: Layout, blackbox: BlackBox, cells: Cells, goal: int | None) -> Question:
    """Return the question of these rows: the desired class is the given one, or the other of two."""
    current = decide(blackbox.proba(cells)) if len(cells) else np.empty(0, dtype=np.int64)
    desired = 1 - current if goal is None else np.full(len(cells), goal)
    return Question(cells, layout.levels(cells), current, desired)


def _trained(
    recipe: Recipe,
    layout: Layout,
    blackbox: BlackBox,
    fit: Cells,
    dev: Cells,
    seed: int,
    progress: Progress | None,
) -> tuple[Counterer, str]:
    """Return the fitted method and a sentence on its training."""
    encoder = Encoder.fit(layout, recipe.inputs, fit)
    two = len(blackbox.classes) == 2
    model: Any = differentiable(blackbox, layout, fit) if two else None
    if model is None:
        uniform = replace(recipe, selector="constant")
        why = "the model offers no gradient" if two else f"the model has {len(blackbox.classes)} classes, not two"
        sentence = f"{why}, so proposals are uniform over the allowed levels; every one is judged"
        return Counterer(layout, uniform, encoder, (), ()), sentence
    try:
        from l2c.engine.learn import learn
    except ImportError as error:
        raise MissingExtraError("fitting an explainer", "torch", "fit") from error
    fit_question, dev_question = (_question(layout, blackbox, rows, None) for rows in (fit, dev))
    learned = learn(fit_question, dev_question, encoder, recipe, model, seed, progress)
    best = int(np.argmin(learned.dev_losses))
    sentence = (
        f"{len(learned.dev_losses) - 1} epochs on {len(fit)} rows; dev loss {learned.dev_losses[0]:.4f} before, "
        f"{learned.dev_losses[best]:.4f} at its best, after epoch {best}"
    )
    return Counterer(layout, recipe, encoder, learned.generator, learned.selector), sentence


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


def _versions() -> dict[str, str]:
    return {"l2c": version("l2c"), "numpy": version("numpy"), "python": platform.python_version()}
