"""What `explain` is asked for, as a caller gives it: for one frame, or for one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from l2c.app.gate import Gate
from l2c.app.privacy import Privacy
from l2c.core.explanation import Release
from l2c.core.limits import Limits
from l2c.core.types import Label
from l2c.engine.recipe import Strategy

WISHED = (
    "desired", "desired_proba", "lock", "permit", "forbid", "where", "max_changes", "min_sparsity", "max_cost",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The arguments of `Explainer.explain`, unchecked; what can be walked along only once was walked along.

    >>> Asked(lock=(name for name in ["job"])).lock
    ['job']
    """

    n: int = 100
    seed: int | None = None
    desired: Label | Iterable[Label] | None = None
    desired_proba: tuple[float, float] | None = None
    lock: Iterable[str] = ()
    permit: Mapping[str, Any] | None = None
    forbid: Mapping[str, Any] | None = None
    where: str | Iterable[str] | None = None
    max_changes: int | None = None
    min_sparsity: float | None = None
    max_cost: float | None = None
    limits: Sequence[Mapping[str, Any] | Limits | None] | None = None
    robust: Sequence[object] | float | None = None
    gate: Gate | None = None
    plausibility: float | None = None
    select: Strategy | None = None
    pool: int | None = None
    tries: int | None = None
    seconds: float | None = None
    reasons: bool = True
    release: Release = "values"
    no_copies: bool | None = None

    def __post_init__(self) -> None:
        for name in (*WISHED, "limits"):
            object.__setattr__(self, name, plainly(getattr(self, name)))

    @property
    def privacy(self) -> Privacy:
        """What may leave."""
        return Privacy(self.release, self.no_copies)

    @property
    def wish(self) -> dict[str, Any]:
        """What all rows should reach and keep to."""
        return {name: getattr(self, name) for name in WISHED}


NAMES = tuple(field.name for field in fields(Asked))


def plainly(given: Any) -> Any:
    """Return what a caller gave without numpy's numbers, and with what can be walked along only once in a list."""
    if isinstance(given, np.generic | np.ndarray | pd.Series | pd.Index):
        return given.tolist()
    if isinstance(given, Mapping):
        return {name: plainly(value) for name, value in given.items()}
    if isinstance(given, tuple):
        return tuple(plainly(value) for value in given)
    if isinstance(given, Iterator | list):
        return [plainly(value) for value in given]
    return given
