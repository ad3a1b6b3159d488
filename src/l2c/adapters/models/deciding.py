"""A model together with how its answer becomes a decision: the likeliest class, a threshold, or a range of a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int64

from l2c.adapters.frames import FrameShape
from l2c.adapters.models import FrameModel, HttpModel, OnnxModel, as_blackbox
from l2c.adapters.models.labels import listed
from l2c.adapters.models.range_model import RangeModel
from l2c.adapters.models.regressors import regressor
from l2c.adapters.models.threshold import with_threshold
from l2c.core.blackbox import BlackBox, threshold_of
from l2c.core.number_range import NumberRange
from l2c.core.types import Cells, Label, Probabilities
from l2c.errors import InputError, OtherModelError


def decided(
    model: object,
    shape: FrameShape,
    examples: Cells,
    *,
    threshold: float | None = None,
    wanted: NumberRange | None = None,
) -> BlackBox:
    """Return the model as a black box that decides as it should.

    Parameters
    ----------
    model, shape, examples
        As `as_blackbox` takes them; or a model that predicts a number.
    threshold
        For two classes: the probability above which the second is decided.
    wanted
        For a model that predicts a number: the range that it should come to lie in.
    """
    predict = regressor(model, shape)
    if predict is None:
        if wanted is not None:
            raise InputError(_no_regressor(model))
        return with_threshold(as_blackbox(model, shape, examples), threshold)
    if wanted is None:
        raise InputError(
            f"{_name(model)} predicts a number, not a class: say in which range it should be, "
            "as in fit(..., desired=(low, high))"
        )
    if threshold is not None:
        raise InputError(f"threshold is for models of two classes; {_name(model)} predicts a number")
    blackbox = RangeModel(predict, shape, wanted)
    blackbox.prediction(examples)
    return blackbox


def another_version(
    model: object,
    shape: FrameShape,
    examples: Cells,
    classes: tuple[Label, ...],
    *,
    threshold: float | None = None,
    wanted: NumberRange | None = None,
    where: str = "the explanations",
) -> BlackBox:
    """Return another version of a model, whose answers stand in the order of these classes.

    Raises
    ------
    OtherModelError
        If it has other classes: what one model found cannot be held against another that knows no such outcome.
    """
    # A regressor has no threshold, and says so; of classes it is about their order, which is not known yet.
    version = decided(model, shape, examples, threshold=None if wanted is None else threshold, wanted=wanted)
    if set(version.classes) != set(classes) or len(version.classes) != len(classes):
        raise OtherModelError(
            f"{where} are about the classes {listed(classes)}, and this model has {listed(version.classes)}; "
            "a version of a model has the same"
        )
    order = np.array([version.classes.index(label) for label in classes])
    return with_threshold(version if (order == np.arange(len(order))).all() else _in_order(version, order), threshold)


def _in_order(blackbox: BlackBox, order: Int64[np.ndarray, " classes"]) -> BlackBox:
    """Return a model with its classes in another order."""
    classes = tuple(blackbox.classes[place] for place in order)
    if isinstance(blackbox, FrameModel):
        return replace(blackbox, answer=_reordered(blackbox.answer, order), classes=classes)
    return Reordered(blackbox, classes, order)


def _reordered(answer: Callable[[Any], Any], order: Int64[np.ndarray, " classes"]) -> Callable[[Any], object]:
    return lambda frame: np.asarray(answer(frame))[:, order]


@dataclass(frozen=True, slots=True, eq=False)
class Reordered:
    """A black box with its classes in another order."""

    blackbox: BlackBox
    classes: tuple[Label, ...]
    order: Int64[np.ndarray, " classes"]
    threshold: float | None = None

    @property
    def labels_only(self) -> bool:
        """Whether the model names a class and no more."""
        return bool(getattr(self.blackbox, "labels_only", False))

    def proba(self, cells: Cells) -> Probabilities:
        """Return the probability of each class for each row."""
        return self.blackbox.proba(cells)[:, self.order]


def range_of(blackbox: BlackBox) -> NumberRange | None:
    """Return the range that a predicted number should lie in, or None if the model tells classes apart."""
    return blackbox.wanted if isinstance(blackbox, RangeModel) else None


def described(blackbox: BlackBox) -> dict[str, object]:
    """Return how a model decides, for a file's notes; nothing where it is the likeliest class."""
    threshold, wanted = threshold_of(blackbox), range_of(blackbox)
    notes: dict[str, object] = {} if threshold is None else {"threshold": threshold}
    return notes if wanted is None else notes | {"range": wanted.to_dict()}


def _no_regressor(model: object) -> str:
    told = any(hasattr(model, name) for name in ("classes_", "predict_proba", "classes"))
    if told or isinstance(model, HttpModel | OnnxModel):
        return (
            f"{_name(model)} tells classes apart, and desired=(low, high) is for a model that predicts a number; "
            "say which class is desired when you ask: explain(..., desired=...)"
        )
    return (
        f"it cannot be told whether {_name(model)} predicts a number, as desired=(low, high) needs; "
        "if it does, say so by an attribute: model.regression = True"
    )


def _name(model: Any) -> str:
    return f"the function {model.__name__!r}" if hasattr(model, "__name__") else type(model).__name__
