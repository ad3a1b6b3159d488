"""From training rows and a model to a fitted method: levels, laws, networks, and the balance of a set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from l2c.adapters.models import DiscretisedModel, TorchModel, differentiable, own_layout
from l2c.adapters.models.twins import twin_by_level, twin_of
from l2c.adapters.models.watch import Hurried
from l2c.core.blackbox import BlackBox, decide, threshold_of
from l2c.core.goal import Goal
from l2c.core.layout import Decode, Layout
from l2c.core.method import Proposer, Question
from l2c.core.schema import Schema
from l2c.core.split import dev_rows
from l2c.core.streams import Streams
from l2c.core.twin import Twin
from l2c.core.types import Cells, Label, Levels, Mask, Probabilities
from l2c.engine.decode import decode_levels
from l2c.engine.dial import FULL_CANDIDATES, HALF_CANDIDATES, MIDDLE, RATE_AT_1, RATE_AT_HALF, Dial
from l2c.engine.discretise import discretise
from l2c.engine.encode import Encoder
from l2c.engine.foresight import summed
from l2c.engine.propose import Counterer
from l2c.engine.recipe import SHARES, Recipe, Strategy, usual_pool
from l2c.engine.reference import fit_reference
from l2c.errors import DataError, MissingExtraError
from l2c.evaluate.plausibility import Reference, plausibilities
from l2c.evaluate.quality import diversity, harmonic_mean, sparsity
from l2c.release.budget import Budget, Manner
from l2c.release.explain import Pools, Sets, look
from l2c.release.leads import in_blocks
from l2c.release.policy import Policy
from l2c.release.search import Banned
from l2c.release.select import Selection
from l2c.release.settle import Sight

Progress = Callable[[int, int], None]
"""Called with the work done and the work in all."""

Unlikely = Callable[[Levels, Int64[np.ndarray, " n"]], Float64[np.ndarray, " n"]]
"""From levels and desired classes to how unlikely each counterfactual is."""

FIRST_BALANCE = 1.75
"""λ before any dev row was seen: sparsity is about a third larger than diversity."""

TRIAL_ROWS, TRIAL_SET, TRIAL_POOL, TRIAL_PATIENCE = 64, 50, 500, 4
"""The dev rows on which settings are tried, the sets and pools for it, and draws for each place of a pool."""

AS_GOOD = 0.006
"""How much of the harmonic mean a tilted law may cost, against a law that has learned nothing."""


@dataclass(slots=True, eq=False)
class Counted:
    """A black box that counts the rows it is asked about."""

    blackbox: BlackBox
    rows: int = 0

    @property
    def classes(self) -> tuple[Label, ...]:
        return self.blackbox.classes

    @property
    def threshold(self) -> float | None:
        """Where a model of two classes decides."""
        return threshold_of(self.blackbox)

    @property
    def labels_only(self) -> bool:
        """Whether the model names a class and no more."""
        return bool(getattr(self.blackbox, "labels_only", False))

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        self.rows += len(cells)
        return self.blackbox.proba(cells)


def split_rows(cells: Cells, seed: int) -> tuple[Cells, Cells]:
    """Return fit and dev rows, each in the order given."""
    if len(cells) < 10:
        raise DataError(f"{len(cells)} training rows are too few to learn from: at least 10 are needed")
    held_out = dev_rows(len(cells), seed)
    return cells[~held_out], cells[held_out]


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """Rows with the model's answers, which it is asked for once, and where it decides."""

    cells: Cells
    proba: Probabilities
    threshold: float | None

    @classmethod
    def by(cls, blackbox: BlackBox, cells: Cells) -> Answered:
        """Return the rows as the model answers them."""
        return cls(cells, answers(blackbox, cells), threshold_of(blackbox))

    @property
    def classes(self) -> Int64[np.ndarray, " rows"]:
        """The class that each row has."""
        return decide(self.proba, self.threshold)

    def take(self, rows: np.ndarray) -> Answered:
        """Return some of the rows."""
        return Answered(self.cells[rows], self.proba[rows], self.threshold)


def other_class(layout: Layout, told: Answered, decode: Decode) -> Question:
    """Return the question of rows that should get another class than they have."""
    return Question.of(layout, told.cells, told.proba, other_than(told.proba, told.threshold), decode=decode)


def answers(blackbox: BlackBox, cells: Cells) -> Probabilities:
    """Return the model's answers; for no rows it is not asked."""
    return blackbox.proba(cells) if len(cells) else np.empty((0, len(blackbox.classes)))


def other_than(proba: Probabilities, threshold: float | None = None) -> Goal:
    """Return the goal of any class but the one that each row has."""
    own = Goal.of_classes(decide(proba, threshold), proba.shape[1])
    return replace(own, accepted=~own.accepted, threshold=threshold)


def fit_method(
    recipe: Recipe,
    schema: Schema,
    blackbox: BlackBox,
    fit: Cells,
    dev: Cells,
    seed: int,
    progress: Progress | None,
    public: Layout | None = None,
) -> tuple[Counterer, str]:
    """Return the fitted method and a sentence on its training; its levels are the public ones where they are given."""
    asked = blackbox if isinstance(blackbox, Counted) else Counted(blackbox)
    known = Answered.by(asked, fit)
    classes = known.classes
    layout = own_layout(asked.blackbox)
    if public is not None:
        layout = public
    elif layout is None:
        layout = discretise(schema, fit, classes)
    else:
        # Another value of the same bin gets the same answer from such a model.
        recipe = replace(recipe, decode_again=False)
    levels = layout.levels(fit)
    laws = tuple(fit_reference(layout, levels[classes == index]) for index in range(len(asked.classes)))
    encoder = Encoder.fit(layout, recipe.inputs, fit)
    untrained = replace(recipe, selector="constant", selection=recipe.reference_selection)
    even = Counterer(layout, untrained, encoder, (), (), laws, FIRST_BALANCE, Dial())
    if len(asked.classes) < 2:
        return even, f"the model has one class, so {UNLEARNED}"
    held_out = Answered.by(asked, dev)
    lesson = _lesson(recipe, even, asked, known, held_out, seed, progress)
    if recipe.select == "first":
        counterer, sentence = lesson.learned() if lesson else (even, NO_GRADIENT)
        counterer = _tilted(counterer, recipe.share or SHARES[0])
        return counterer, _told(sentence, counterer, lesson)
    tried = held_out.take(np.sort(np.random.default_rng(seed).permutation(len(dev))[:TRIAL_ROWS]))
    # Without a gradient questions will be dear: a row that has enough looks no longer than `explain` would let it.
    patience = None if lesson and lesson.gradient else TRIAL_PATIENCE * TRIAL_POOL
    reference = Reference(fit, classes, dev, held_out.classes)
    judge, twin = (lesson.judge, lesson.twin) if lesson else (asked, None)
    trial = _Trial(judge, other_class(layout, tried, recipe.decode), reference, seed, patience, twin)
    even = trial.balanced(even)
    if lesson is None:
        return trial.dialled(even), NO_GRADIENT
    counterer, sentence = replace(lesson, even=even).learned()
    share = recipe.share or trial.largest_share(even, counterer)
    counterer = trial.dialled(trial.balanced(_tilted(counterer, share)))
    return counterer, _told(sentence, counterer, lesson)


UNLEARNED = "proposals follow the reference law alone; every one is judged"
NO_GRADIENT = f"the model offers no gradient, so {UNLEARNED}"
SUMMED = "the model's log-odds are a sum over the features, so what each level adds is known"


def _tilted(counterer: Counterer, share: float) -> Counterer:
    """Return the method as it tilts to a share of valid proposals, if it foresees anything."""
    if counterer.foresight is None:
        return counterer
    return replace(counterer, recipe=replace(counterer.recipe, share=share))


def _told(sentence: str, counterer: Counterer, lesson: _Lesson | None) -> str:
    """Return the whole sentence on training; where answers taught, with how many there were, dev trials included."""
    if counterer.foresight is not None:
        sentence += f"; proposals are tilted until {counterer.recipe.share:.0%} of them should be valid"
    if lesson is not None and not lesson.gradient:
        sentence += f"; {lesson.blackbox.rows} model rows in all"
    return sentence


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """Sets for some dev rows, by which settings are chosen; the test rows are never seen here."""

    blackbox: BlackBox
    question: Question
    reference: Reference
    seed: int
    patience: int | None = None
    twin: Twin | None = None
    found: dict[tuple[int, int, float | None, float], tuple[Counterer, Pools]] = field(default_factory=dict)

    def pools(self, counterer: Counterer, place: float) -> Pools:
        """Return what is found for the rows at a place of the dial; the same law is tried there once."""
        key = id(counterer.generator), id(counterer.foresight), counterer.recipe.share, place
        if key not in self.found:
            pools = pools_from(
                counterer, self.blackbox, self.question, pool=TRIAL_POOL, enough=TRIAL_SET, dial=place, seed=self.seed,
                budget=Budget(20 * TRIAL_POOL, self.patience), twin=self.twin,
            )  # fmt: skip
            # The method is kept with its pools, so that no other can take on its networks' identity.
            self.found[key] = counterer, pools
        return self.found[key][1]

    def sets(self, counterer: Counterer) -> tuple[float, float]:
        """Return the sparsity and the diversity of balanced sets at dial 0."""
        released = self.pools(counterer, 0.0).release(TRIAL_SET, selection_of(counterer, "balanced", 0.0))
        return sparsity(released) or 0.0, diversity(released) or 0.0

    def balanced(self, counterer: Counterer) -> Counterer:
        """Return the method with λ = (S / D)² of its sets: there the harmonic mean of the two is largest."""
        kept, apart = self.sets(counterer)
        return replace(counterer, balance=(kept / apart) ** 2) if kept and apart else counterer

    def largest_share(self, even: Counterer, counterer: Counterer) -> float:
        """Return the largest share of valid proposals with which sets are nearly as good as without learning.

        The larger it is, the fewer questions to the model; too large, and sets lose diversity.
        """
        if counterer.foresight is None:
            return 0.0
        enough = (harmonic_mean(*self.sets(even)) or 0.0) - AS_GOOD

        def as_good(share: float) -> bool:
            return (harmonic_mean(*self.sets(_tilted(counterer, share))) or 0.0) >= enough

        return next((share for share in SHARES if as_good(share)), SHARES[-1])

    def dialled(self, counterer: Counterer) -> Counterer:
        """Return the method with its dial settled: the weights whose sets are worth most at each place's rate."""
        tried = [(MIDDLE, weight) for weight in HALF_CANDIDATES] + [(1.0, weight) for weight in FULL_CANDIDATES]
        prices = dict(zip(tried, self._priced(counterer, tried), strict=True))
        half = _worth_most(HALF_CANDIDATES, [prices[MIDDLE, weight] for weight in HALF_CANDIDATES], RATE_AT_HALF)
        full = _worth_most(FULL_CANDIDATES, [prices[1.0, weight] for weight in FULL_CANDIDATES], RATE_AT_1)
        return replace(counterer, dial=Dial(half, full))

    def _priced(self, counterer: Counterer, tried: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return the harmonic mean and the plausibility of sets, each at a place with a weight of unlikeliness."""
        releases, unlikely = [], _remembered(counterer.unlikely)
        for place, weight in tried:
            weighing = replace(counterer, dial=Dial(weight, weight))
            selection = replace(selection_of(weighing, "balanced", 1.0), unlikely=unlikely)
            releases.append(self.pools(counterer, place).release(TRIAL_SET, selection))
        means = [harmonic_mean(sparsity(released), diversity(released)) or 0.0 for released in releases]
        shares = [measured.share or 0.0 for measured in plausibilities(releases, self.reference)]
        return list(zip(means, shares, strict=True))


def _remembered(unlikely: Unlikely) -> Unlikely:
    """Return the same function, which works out the same pool once."""
    known: dict[tuple[bytes, bytes], Float64[np.ndarray, " n"]] = {}

    def remembered(levels: Levels, desired: Int64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        key = levels.tobytes(), desired.tobytes()
        if key not in known:
            known[key] = unlikely(levels, desired)
        return known[key]

    return remembered


def _worth_most(candidates: tuple[float, ...], prices: Sequence[tuple[float, float]], rate: float) -> float:
    """Return the weight that is worth most: plausibility less what its harmonic mean costs; of equals the last."""
    worth = [share * np.exp(rate * mean) for mean, share in prices]
    return candidates[len(worth) - 1 - int(np.argmax(worth[::-1]))]


@dataclass(frozen=True, slots=True, eq=False)
class _Lesson:
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

    def through_answers(self) -> _Lesson:
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


def _lesson(
    recipe: Recipe,
    even: Counterer,
    asked: Counted,
    fit: Answered,
    dev: Answered,
    seed: int,
    progress: Progress | None,
) -> _Lesson | None:
    """Return what training takes, or None if there is no gradient, and no answers or no epoch to learn from."""
    # A model of torch is known by its kind; any other is measured, by asking it.
    of_torch = isinstance(asked.blackbox, TorchModel | DiscretisedModel | Hurried)
    model: Any = differentiable(asked.blackbox if of_torch else asked, even.layout, fit.cells)
    if model is None and not (recipe.model_rows and recipe.epochs):
        return None
    taught, held_out = (_some_other_class(even.layout, told, recipe.decode, seed) for told in (fit, dev))
    # A network's twin is read from it; any other's is the one that offers the gradient, and was measured for it.
    twin = twin_of(asked.blackbox, even.layout) if isinstance(asked.blackbox, TorchModel) else twin_by_level(model)
    lesson = _Lesson(recipe, even, asked, taught, held_out, model, asked, twin, seed, progress)
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


def ease_of(enough: int | np.ndarray, pool: int) -> float:
    """Return how easy proposals should make it, for a pool of some size to choose so many from.

    Who wants more to choose from than is usual wants better sets, and asks more for them.
    """
    return min(1.0, math.sqrt(usual_pool(enough) / pool)) if isinstance(enough, int) else 1.0


def pools_from(
    counterer: Counterer,
    blackbox: BlackBox,
    question: Question,
    *,
    pool: int,
    enough: int | np.ndarray,
    dial: float,
    seed: int,
    budget: Budget,
    also: tuple[BlackBox, ...] = (),
    twin: Twin | None = None,
    banned: Banned | None = None,
    policy: Policy | None = None,
    sight: Sight | None = None,
    progress: Progress | None = None,
    proposer: Proposer | None = None,
    at_once: Sets | None = None,
) -> Pools:
    """Return pools of valid counterfactuals for a batch of rows, proposed at this place of the dial."""
    recipe = counterer.recipe
    if proposer is None:
        streams = Streams.for_rows(question.cells, seed)
        proposer = counterer.proposer(question, streams, dial, ease_of(enough, pool))
    return look(
        question,
        layout=counterer.layout,
        blackbox=blackbox,
        proposer=proposer if policy is None else in_blocks(proposer, question, policy, pool),
        manner=Manner(recipe.decode_again, recipe.refine),
        pool=pool,
        enough=enough,
        budget=budget,
        also=also,
        twin=twin,
        banned=banned,
        policy=policy,
        sight=sight,
        progress=progress,
        at_once=at_once,
    )


PROBED_ROWS, PROBED_DRAWS = 20, 20
LEAST_ACCEPTANCE = 0.1
"""No first round is sized for less: rows differ, and those that have enough ask no more."""


def acceptance_seen(counterer: Counterer, blackbox: BlackBox, dev: Cells, twin: Twin | None, seed: int) -> list[float]:
    """Return the share of proposals that turn out valid on some dev rows, at either end of the dial, in two digits."""
    told = Answered.by(blackbox, dev[:PROBED_ROWS])
    question = other_class(counterer.layout, told, counterer.recipe.decode)
    once = Budget(PROBED_DRAWS)

    def share(dial: float) -> float:
        pools = pools_from(
            counterer, blackbox, question, pool=PROBED_DRAWS, enough=PROBED_DRAWS, dial=dial, seed=seed, budget=once,
            twin=twin,
        )  # fmt: skip
        valid = sum(int(looked.valid.sum()) for looked in pools.searches)
        drawn = sum(int(looked.drawn.sum()) for looked in pools.searches)
        return round(max(valid / drawn, LEAST_ACCEPTANCE), 2) if drawn else 1.0

    return [share(0.0), share(1.0)]


def acceptance_at(dial: float, seen: Any) -> float:
    """Return the share of proposals that should turn out valid at a place of the dial, from what `acceptance_seen` saw.

    >>> acceptance_at(0.5, [0.6, 0.8])
    0.7
    """
    first, last = seen
    return float(first + dial * (last - first))


def selection_of(counterer: Counterer, select: Strategy, dial: float) -> Selection:
    """Return the weights of a strategy at this place of the dial."""
    weight, unlikely = counterer.dial.unlikeliness_weight(dial), counterer.unlikely
    match select:
        case "first":
            return Selection()
        case "balanced":
            return Selection(1.0, counterer.balance, weight, unlikely=unlikely)
        case "diverse":
            return Selection(0.0, 1.0, weight, unlikely=unlikely)
        case "sparse":
            return Selection(1.0, 0.0, TIE_BREAK, unlikely=unlikely)
        case "cheap":
            return Selection(0.0, 0.0, TIE_BREAK, 1.0, unlikely)


TIE_BREAK = 1e-3
"""The weight of unlikeliness among sets that are as sparse as can be: it decides between equals."""
