"""The dial from diverse to plausible, and what it turns.

Turned from 0 to the middle, it lets the reference law count more and more in proposing, up to in full. Over its whole
range it makes selection ask more and more for likely sets. How much more is settled when the method is fitted, on dev
rows, by a rate of exchange: the weight of unlikeliness rises along the candidates as long as each point of harmonic
mean that it costs buys at least `RATE_AT_HALF` points of plausibility for the middle, `RATE_AT_1` for the end.
"""

from __future__ import annotations

from dataclasses import dataclass

FULL_LAW_FROM = 0.5

RATE_AT_HALF, RATE_AT_1 = 6.0, 2.0
HALF_CANDIDATES = (0.02, 0.03, 0.045, 0.06, 0.08)
FULL_CANDIDATES = (0.08, 0.11, 0.15, 0.2, 0.25)
"""What is tried for μ. The rates and the last candidates were chosen on the dev splits of the embedded data sets."""


def law_exponent(place: float) -> float:
    """Return the power to which the reference law's tables are raised in proposing.

    >>> law_exponent(0.0), law_exponent(0.25), law_exponent(1.0)
    (0.0, 0.5, 1.0)
    """
    return min(1.0, place / FULL_LAW_FROM)


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
        if place <= FULL_LAW_FROM:
            return self.half * place / FULL_LAW_FROM
        return self.half + (self.full - self.half) * (place - FULL_LAW_FROM) / (1 - FULL_LAW_FROM)
