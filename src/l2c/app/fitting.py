"""From training rows and a model to a fitted method: levels, laws, networks, and the balance of a set."""

from __future__ import annotations

from dataclasses import replace

from l2c.adapters.models import own_layout
from l2c.app.answered import Answered, Counted
from l2c.app.lessons import NO_GRADIENT, UNLEARNED, Lesson, lesson_of
from l2c.app.progress import Progress
from l2c.app.trials import Trial, tilted_to
from l2c.core.blackbox import BlackBox
from l2c.core.layout import Layout
from l2c.core.schema import Schema
from l2c.core.split import dev_rows
from l2c.core.types import Cells
from l2c.engine.dial import Dial
from l2c.engine.discretise import discretise
from l2c.engine.encode import Encoder
from l2c.engine.propose import Counterer
from l2c.engine.recipe import SHARES, Recipe
from l2c.engine.reference import fit_reference
from l2c.errors import DataError
from l2c.evaluate.plausibility import Reference

FIRST_BALANCE = 1.75
"""λ before any dev row was seen: sparsity is about a third larger than diversity."""


def split_rows(cells: Cells, seed: int) -> tuple[Cells, Cells]:
    """Return fit and dev rows, each in the order given."""
    if len(cells) < 10:
        raise DataError(f"{len(cells)} training rows are too few to learn from: at least 10 are needed")
    held_out = dev_rows(len(cells), seed)
    return cells[~held_out], cells[held_out]


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
    lesson = lesson_of(recipe, even, asked, known, held_out, seed, progress)
    if recipe.select == "first":
        counterer, sentence = lesson.learned() if lesson else (even, NO_GRADIENT)
        counterer = tilted_to(counterer, recipe.share or SHARES[0])
        return counterer, _told(sentence, counterer, lesson)
    reference = Reference(fit, classes, dev, held_out.classes)
    judge, twin = (lesson.judge, lesson.twin) if lesson else (asked, None)
    # Without a gradient questions will be dear.
    thrifty = lesson is None or not lesson.gradient
    trial = Trial.on(held_out, layout, recipe.decode, reference, judge, twin, seed, thrifty=thrifty)
    even = trial.balanced(even)
    if lesson is None:
        return trial.dialled(even), NO_GRADIENT
    counterer, sentence = replace(lesson, even=even).learned()
    share = recipe.share or trial.largest_share(even, counterer)
    counterer = trial.dialled(trial.balanced(tilted_to(counterer, share)))
    return counterer, _told(sentence, counterer, lesson)


def _told(sentence: str, counterer: Counterer, lesson: Lesson | None) -> str:
    """Return the whole sentence on training; where answers taught, with how many there were, dev trials included."""
    if counterer.foresight is not None:
        sentence += f"; proposals are tilted until {counterer.recipe.share:.0%} of them should be valid"
    if lesson is not None and not lesson.gradient:
        sentence += f"; {lesson.blackbox.rows} model rows in all"
    return sentence
