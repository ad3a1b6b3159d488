"""What one call makes of a model beyond its classes: another range to aim at, other versions, a margin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from l2c.adapters.models.deciding import another_version
from l2c.adapters.models.mark import ModelMark
from l2c.adapters.models.range_model import RangeModel
from l2c.adapters.models.watch import Deadline
from l2c.core.blackbox import BlackBox, threshold_of
from l2c.core.fingerprint import probe_rows
from l2c.core.given_numbers import is_number
from l2c.core.layout import Layout
from l2c.core.number_range import INSIDE, OUTSIDE_AND_INSIDE, NumberRange
from l2c.errors import InputError

Wish = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Robust:
    """What a counterfactual must withstand: other versions of the model, or a shift of its answer by a margin."""

    models: tuple[object, ...] = ()
    margin: float = 0.0

    @classmethod
    def of(cls, given: object) -> Robust:
        """Return what a caller asks: nothing, a list of models, or a margin; or raise if it is none of them."""
        if given is None:
            return cls()
        if is_number(given):
            if not 0 < given < 0.5:
                raise InputError(f"robust is a margin above 0 and below 0.5, or a list of models, not {given!r}")
            return cls(margin=float(given))
        if not isinstance(given, Sequence) or isinstance(given, str) or not given:
            raise InputError(f"robust is a list of models, or a margin such as 0.1, not {given!r}")
        return cls(models=tuple(given))

    def __bool__(self) -> bool:
        return bool(self.models or self.margin)

    def to_dict(self) -> dict[str, object]:
        """Return it for a file's notes; nothing where nothing is asked."""
        if self.models:
            return {"robust": {"models": len(self.models)}}
        return {"robust": {"margin": self.margin}} if self.margin else {}

    def versions(self, mark: ModelMark, layout: Layout, seconds: float | None = None) -> tuple[BlackBox, ...]:
        """Return the other versions of the model, answering for the same classes in the same order.

        Each is asked about a row when it is opened, and has so many seconds for it.
        """
        found = []
        for place, model in enumerate(self.models):
            opened = partial(version_of, model, mark, layout)
            try:
                found.append(opened() if seconds is None else Deadline(seconds).meet(opened))
            except InputError as error:
                raise InputError([f"robust[{place}]: {problem}" for problem in error.problems]) from error
        return tuple(found)

    def problems(self, blackbox: BlackBox, wishes: Iterable[Wish]) -> Iterable[str]:
        """Yield why the margin makes no sense for a model, or beside what else is wished."""
        if not self.margin:
            return
        threshold = threshold_of(blackbox)
        if isinstance(blackbox, RangeModel):
            yield "robust=margin is for probabilities; for a predicted number, ask for a narrower range"
        elif getattr(blackbox, "labels_only", False):
            yield "robust=margin needs probabilities, and this model answers with labels alone: give robust=[models]"
        elif threshold is not None and self.margin >= min(threshold, 1 - threshold):
            yield f"robust={self.margin:g} leaves no room beside the threshold {threshold:g}"
        if any(wish.get("desired_proba") is not None for wish in wishes):
            yield "robust=margin is about the model's decision; beside desired_proba, narrow the range instead"


NOT_ROBUST = Robust()


def number_problems(blackbox: BlackBox, wishes: Iterable[Wish]) -> Iterable[str]:
    """Yield what is wished of a predicted number though only a probability has it."""
    if isinstance(blackbox, RangeModel) and any(wish.get("desired_proba") is not None for wish in wishes):
        yield "desired_proba is for models with probabilities; of a predicted number, desired=(low, high) is the range"


def version_of(model: object, mark: ModelMark, layout: Layout, threshold: float | None = None) -> BlackBox:
    """Return another version of a marked model, which decides as that one does, or by a threshold of its own."""
    decides = mark.threshold if threshold is None else threshold
    examples = probe_rows(layout)[:1]
    return another_version(model, mark.shape, examples, mark.classes, threshold=decides, wanted=mark.wanted)


def aimed_at(blackbox: BlackBox, desired: Any) -> tuple[BlackBox, Any]:
    """Return the model with the range that is desired of its number, and the classes that are desired.

    A model that tells classes apart stays as it is. Of a number, inside of the range is desired; by default of the
    range that the explainer was fitted with.
    """
    if not isinstance(blackbox, RangeModel):
        return blackbox, desired
    if desired is None:
        return blackbox, OUTSIDE_AND_INSIDE[INSIDE]
    if isinstance(desired, str) or all(label in OUTSIDE_AND_INSIDE for label in _several(desired)):
        return blackbox, desired
    return blackbox.wanting(NumberRange.of(desired)), OUTSIDE_AND_INSIDE[INSIDE]


def _several(desired: object) -> list[object]:
    return list(desired) if isinstance(desired, Iterable) else [desired]
