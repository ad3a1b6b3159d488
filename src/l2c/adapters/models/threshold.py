"""A model of two classes that is decided elsewhere than at one half."""

from __future__ import annotations

import copy
from dataclasses import dataclass, is_dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any

from l2c.core.blackbox import BlackBox
from l2c.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor


def with_threshold(blackbox: Any, threshold: float | None) -> BlackBox:
    """Return the same model with a threshold: the second class is decided where its probability is above.

    At the threshold itself the model decides for the first class, but as for any tie, that is not enough to be a
    counterfactual for either.
    """
    if threshold is None:
        return blackbox
    if problem := _problem(blackbox, threshold):
        raise InputError(problem)
    if is_dataclass(blackbox):
        changes: dict[str, Any] = {"threshold": float(threshold)}
        decided: Any = replace(blackbox, **changes)  # type: ignore[type-var]
    else:
        decided = copy.copy(blackbox)
        decided.threshold = float(threshold)
    return decided


def _problem(blackbox: Any, threshold: object) -> str | None:
    number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if not number or not 0 < threshold < 1:  # type: ignore[operator]
        return f"threshold is a probability above 0 and below 1, not {threshold!r}"
    if len(blackbox.classes) != 2:
        return f"threshold is for models of two classes; this one has {len(blackbox.classes)}"
    if getattr(blackbox, "labels_only", False):
        return "threshold needs probabilities, and this model answers with labels alone"
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Shifted:
    """A differentiable model whose log-odds are 0 where the threshold is, so that learning aims beyond it."""

    model: Any
    threshold: float

    def logits(self, values: Tensor, one_hot: Tensor) -> Tensor:
        """Return class logits for soft rows, with gradients."""
        logits: Tensor = self.model.logits(values, one_hot)
        return logits - logits.new_tensor([0.0, log(self.threshold / (1 - self.threshold))])
