"""What a method learns of a model, and through what: its gradient, a twin of it, or its answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int64

from l2c.adapters.models import DiscretisedModel, TorchModel, differentiable
from l2c.adapters.models.twins import twin_by_level, twin_of
from l2c.adapters.models.watch import Hurried
from l2c.app.answered import Answered, Counted
from l2c.app.progress import Progress
from l2c.core.blackbox import BlackBox
from l2c.core.goal import Goal
from l2c.core.layout import Decode, Layout
from l2c.core.method import Question
from l2c.core.twin import Twin
from l2c.core.types import Levels, Mask
from l2c.engine.decode import decode_levels
from l2c.engine.foresight import summed
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe
from l2c.errors import MissingExtraError

UNLEARNED = "proposals follow the reference law alone; every one is judged"
NO_GRADIENT = f"the model offers no gradient, so {UNLEARNED}"
SUMMED = "the model's log-odds are a sum over the features, so what each level adds is known"


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """All that learning takes.

    `model` is what gradients flow through; None where there is nothing of the kind, and answers alone must teach.
    `judge` answers in trials: the model itself, or a network that has learned its answers, which costs nothing to ask;
    `twin` does so by level, where the model can be seen into.
    """

    recipe: Recipe
    even: Counterer
    blackbox: Counted
    fit: Question
    dev: Question
    model: Any
    judge: BlackBox
    twin: Twin | None
    seed: int
    progress: Progress | None
    foreword: str = ""

    @property
    def gradient(self) -> bool:
        """Whether the model itself offers a gradient."""
        return not self.foreword

    def learned(self) -> tuple[Counterer, str]:
        """Return the method with what was learned, and a sentence on it."""
        fit, dev, recipe = self._movable(self.fit), self._movable(self.dev), self.recipe
        if recipe.beta is None and not (recipe.epochs and recipe.share != 0):
            return self.even, f"nothing was to be learned, so {UNLEARNED}"
        seen = None if self.twin is None else summed(self.twin)
        if recipe.beta is None and seen is not None:
            if self.progress:
                self.progress(1, 1)
            return replace(self.even, foresight=seen), SUMMED
        if not len(fit) or not len(dev):
            return self.even, f"the schema's limits let too few rows stay as they are, so {UNLEARNED}"
        return self._foreseen(fit, dev) if recipe.beta is None else self._trained(fit, dev, recipe.beta)

    def _foreseen(self, fit: Question, dev: Question) -> tuple[Counterer, str]:
        """Return the method with a foresight that answers to proposals taught."""
        with _needs_torch():
            from l2c.engine.learn_foresight import learn_foresight
        asking = self.judge is self.blackbox and not self.gradient
        most = self.recipe.model_rows if asking else None
        taught = learn_foresight(fit, dev, self.even, self.recipe, self._valid, self.seed, self.progress, most)
        sentence = (
            f"{self.foreword}{taught.epochs} epochs on proposals for {taught.rows} rows; dev loss "
            f"{taught.dev_losses[0]:.4f} before the last stage, {min(taught.dev_losses):.4f} at its best"
        )
        return replace(self.even, foresight=taught.foresight), sentence

    def _valid(self, question: Question, row: Int64[np.ndarray, " n"], levels: Levels) -> Mask:
        """Return which proposals are valid."""
        values = question.room.values
        if self.twin is not None:
            proba = self.twin.proba(self.twin.inputs(values), row, levels)
        else:
            proba = self.judge.proba(decode_levels(self.even.layout, levels, values, row))
        return question.goal.take(row).reached(proba)

    def _trained(self, fit: Question, dev: Question, beta: float) -> tuple[Counterer, str]:
        """Return the method with trained networks G and S."""
        learned = self._networks(fit, dev)
        best = int(np.argmin(learned.dev_losses))
        sentence = (
            f"{self.foreword}{len(learned.dev_losses) - 1} epochs on {len(fit)} rows with β = {beta:g}; dev loss "
            f"{learned.dev_losses[0]:.4f} before, {learned.dev_losses[best]:.4f} at its best, after epoch {best}"
        )
        return replace(self.even, recipe=self.recipe, generator=learned.generator, selector=learned.selector), sentence

    def _networks(self, fit: Question, dev: Question) -> Any:
        with _needs_torch():
            from l2c.engine.learn import learn
            from l2c.engine.score import learn_by_score
        if self.model is None:
            return learn_by_score(fit, dev, self.even, self.recipe, self.blackbox, self.seed, self.progress)
        return learn(fit, dev, self.even.encoder, self.recipe, self.model, self.seed, self.progress)

    def through_answers(self) -> Lesson:
        """Return the lesson of a model that offers no gradient, taught by a twin of it or by its answers themselves."""
        fit = self._movable(self.fit)
        if self.recipe.without_gradient == "score" or not len(fit):
            return replace(self, foreword="the model offers no gradient, so its answers to proposals taught: ")
        with _needs_torch():
            from l2c.engine.distil import distil
        twin = distil(fit, self.even, self.blackbox, self.recipe.model_rows, self.seed, self.progress)
        foreword = (
            f"the model offers no gradient, so a twin taught, which learned its answers to {twin.rows} proposals and "
            f"decides as it does on {twin.agreement:.0%} of others: "
        )
        return replace(self, model=twin, judge=twin, foreword=foreword)

    def _movable(self, question: Question) -> Question:
        """Return the question without the rows that a standing limit forces to change."""
        forced = question.room.must_change(self.even.layout, question.levels).any(axis=1)
        return question.take(np.flatnonzero(~forced))


def lesson_of(
    recipe: Recipe,
    even: Counterer,
    asked: Counted,
    fit: Answered,
    dev: Answered,
    seed: int,
    progress: Progress | None,
) -> Lesson | None:
    """Return what training takes, or None if there is no gradient, and no answers or no epoch to learn from."""
    # A model of torch is known by its kind; any other is measured, by asking it.
    of_torch = isinstance(asked.blackbox, TorchModel | DiscretisedModel | Hurried)
    model: Any = differentiable(asked.blackbox if of_torch else asked, even.layout, fit.cells)
    if model is None and not (recipe.model_rows and recipe.epochs):
        return None
    taught, held_out = (_some_other_class(even.layout, told, recipe.decode, seed) for told in (fit, dev))
    # A network's twin is read from it; any other's is the one that offers the gradient, and was measured for it.
    twin = twin_of(asked.blackbox, even.layout) if isinstance(asked.blackbox, TorchModel) else twin_by_level(model)
    lesson = Lesson(recipe, even, asked, taught, held_out, model, asked, twin, seed, progress)
    return lesson.through_answers() if model is None else lesson


def _some_other_class(layout: Layout, told: Answered, decode: Decode, seed: int) -> Question:
    """Return the question of rows that should each get one other class; of several it is drawn, as all may be asked."""
    classes = told.proba.shape[1]
    step = np.random.default_rng(seed).integers(1, classes, len(told.cells))
    goal = Goal.of_classes((told.classes + step) % classes, classes)
    return Question.of(layout, told.cells, told.proba, replace(goal, threshold=told.threshold), decode=decode)


@contextmanager
def _needs_torch() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise MissingExtraError("fitting an explainer", "torch", "fit") from error
