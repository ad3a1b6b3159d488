"""The dial from diverse to plausible, and what it turns.

Turned from 0 to 1, it lets the reference law count more and more in proposing, from not at all to in full, and makes
selection ask more and more for likely sets. How much more is settled when the method is fitted, on dev rows, by a rate
of exchange: a point of harmonic mean is given for so many per cent more plausible ones, `RATE_AT_HALF` in the middle of
the dial and `RATE_AT_1` at its end. Per cent, not points: where few are plausible, each counts for more.
"""

from __future__ import annotations

from dataclasses import dataclass

MIDDLE = 0.5

RATE_AT_HALF, RATE_AT_1 = 9.0, 2.0
HALF_CANDIDATES = (0.03, 0.045, 0.06, 0.075, 0.09, 0.105, 0.12)
FULL_CANDIDATES = (0.12, 0.14, 0.16, 0.18, 0.2, 0.22)
"""What is tried for μ. The rates and the last candidates were chosen on the dev splits of the embedded data sets."""


@dataclass(frozen=True, slots=True)
class Dial:
    """What a standard deviation of unlikeliness costs in selection, at the middle and at the end of the dial."""

    half: float = HALF_CANDIDATES[-1]
    full: float = FULL_CANDIDATES[-1]

    def unlikeliness_weight(self, place: float) -> float:
        """Return μ at a place of the dial, in units of sparsity: a line to the middle, and a line on from there.

        >>> [round(Dial(0.04, 0.2).unlikeliness_weight(place), 6) for place in (0.0, 0.25, 0.5, 1.0)]
        [0.0, 0.02, 0.04, 0.2]
        """
        if place <= MIDDLE:
            return self.half * place / MIDDLE
        return self.half + (self.full - self.half) * (place - MIDDLE) / (1 - MIDDLE)
