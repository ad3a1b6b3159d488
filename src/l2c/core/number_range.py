"""A range that a predicted number should come to lie in, as two classes that a row can be of: outside and inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float64

from l2c.core.types import Label, Mask, Probabilities
from l2c.errors import InputError

OUTSIDE_AND_INSIDE: tuple[Label, ...] = ("outside", "inside")
INSIDE = 1

EDGE = 1e-12
"""How far from one half the edges of the range stand, so that they are inside and what lies beyond is not."""


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The range from `low` to `high`, both ends inside, either of them infinite; `unit` is a usual difference.

    Examples
    --------
    >>> wanted = NumberRange(low=10.0, high=20.0, unit=5.0)
    >>> wanted.inside(np.array([10.0, 20.5]))
    array([ True, False])
    >>> wanted.proba(np.array([9.0, 12.0]))[:, 1].round(2)
    array([0.45, 0.6 ])
    """

    low: float
    high: float
    unit: float = 1.0

    @classmethod
    def of(cls, given: object, name: str = "desired") -> NumberRange:
        """Return the range that a caller gave as (low, high), None for an open end, or raise if it is none."""
        ends: Any = given
        try:
            low, high = ends
            low = -np.inf if low is None else float(low)
            high = np.inf if high is None else float(high)
            sound = low <= high and not isinstance(given, str) and (np.isfinite(low) or np.isfinite(high))
        except (TypeError, ValueError):
            sound = False
        if not sound:
            raise InputError(
                f"{name} of a predicted number is a range (low, high), None for an open end, not {given!r}"
            )
        return cls(low, high)

    def measured_by(self, predictions: Float64[np.ndarray, " rows"]) -> NumberRange:
        """Return the range in units of how far predictions spread."""
        spread = float(np.std(predictions)) if len(predictions) else 0.0
        return replace(self, unit=spread if spread > 0 else 1.0)

    def inside(self, predictions: Float64[np.ndarray, " rows"]) -> Mask:
        """Return which predictions lie in the range; one that is missing does not."""
        return np.asarray((predictions >= self.low) & (predictions <= self.high))

    def proba(self, predictions: Float64[np.ndarray, " rows"]) -> Probabilities:
        """Return how surely predictions lie outside and inside: more than one half for the side that they are on.

        It is a measure of distance to the nearer end, not a probability that anything was trained for.
        """
        depth = np.minimum(predictions - self.low, self.high - predictions) / self.unit
        # Beyond 30 units nothing can be told apart any more, and the exponential stays finite.
        sure = 1 / (1 + np.exp(-np.clip(depth, -30.0, 30.0)))
        inside = np.where(self.inside(predictions), np.maximum(sure, 0.5 + EDGE), np.minimum(sure, 0.5 - EDGE))
        return np.stack([1 - inside, inside], axis=1)

    def __str__(self) -> str:
        if np.isinf(self.low):
            return f"at most {self.high:g}"
        return f"at least {self.low:g}" if np.isinf(self.high) else f"{self.low:g} to {self.high:g}"

    def to_dict(self) -> dict[str, float | None]:
        """Return the range as plain data, an infinite end as None."""
        low, high = (None if np.isinf(end) else end for end in (self.low, self.high))
        return {"low": low, "high": high, "unit": self.unit}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NumberRange:
        """Return the range that `to_dict` wrote."""
        return replace(cls.of((data["low"], data["high"])), unit=data["unit"])
