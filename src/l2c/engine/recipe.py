"""The settings of Learning to Counter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from l2c.core.layout import Decode
from l2c.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How the generator G and the selector S are built and trained.

    Parameters
    ----------
    alpha
        The weight of ‖π‖₁, the paper's pull towards few changes.
    beta
        The weight of the KL divergence from the proposal to a uniform law over the allowed levels. It keeps
        sets diverse: without it the networks settle on a few sure answers.
    reference_selection
        The probability with which that uniform law changes a feature.
    temperature
        τ of the Concrete relaxations used in training.
    learning_rate, epochs, batch_size, patience
        Adam's step, the most passes over the fit rows, rows a step, and after how many passes without a better
        dev loss training stops (None: never). With `epochs=0` the networks stay as they were initialised.
    hidden
        The width of the networks' hidden layers.
    widen_after
        After so many draws for one row, the uniform law is drawn from instead of the learned one, so that a row
        for which the networks learned too narrow a law is still answered (None: never).
    epsilon
        The factor on the probability of levels that a monotone constraint forbids; 0 removes them altogether.
    selector
        `learned` (the network S), `constant` (π = `selection` for every feature), or `absent` (π = 1).
    selection
        π of the constant selector.
    inputs
        What the networks see of a number: its `levels` one-hot, or its standardised `values`.
    decode
        Which value stands for a bin.
    """

    alpha: float = 1e-4
    beta: float = 0.2
    reference_selection: float = 0.7
    temperature: float = 0.2
    learning_rate: float = 2e-3
    epochs: int = 100
    batch_size: int = 256
    patience: int | None = 20
    hidden: int = 64
    widen_after: int | None = 1000
    epsilon: float = 0.0
    selector: Literal["learned", "constant", "absent"] = "learned"
    selection: float = 0.7
    inputs: Literal["levels", "values"] = "levels"
    decode: Decode = "median"

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise InputError(problems)

    def _problems(self) -> Iterator[str]:
        for name in ("temperature", "learning_rate", "batch_size", "hidden"):
            if not getattr(self, name) > 0:
                yield f"{name} must be above 0, not {getattr(self, name)}"
        for name in ("alpha", "beta", "epochs"):
            if not getattr(self, name) >= 0:
                yield f"{name} must be at least 0, not {getattr(self, name)}"
        if not 0 <= self.epsilon < 1:
            yield f"epsilon must be at least 0 and below 1, not {self.epsilon}"
        for name in ("selection", "reference_selection"):
            if not 0 < getattr(self, name) <= 1:
                yield f"{name} is a probability above 0, not {getattr(self, name)}"
        if self.patience is not None and self.patience < 1:
            yield f"patience must be at least 1 epoch, or None, not {self.patience}"
        if self.widen_after is not None and self.widen_after < 0:
            yield f"widen_after must be at least 0 draws, or None, not {self.widen_after}"
        choices = {
            "selector": ("learned", "constant", "absent"),
            "inputs": ("levels", "values"),
            "decode": ("median", "midpoint"),
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                yield f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}"


PAPER = Recipe(
    alpha=1e-4,
    beta=0.0,
    temperature=0.2,
    learning_rate=1e-4,
    epochs=200,
    batch_size=64,
    patience=None,
    widen_after=None,
    epsilon=math.exp(-10),
    decode="midpoint",
)
"""The settings of the paper's text (appendix A.2). It does not name a batch size or a width: ours."""
