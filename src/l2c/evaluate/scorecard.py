"""Every number about a release on one card."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import get_args

from l2c.core.explanation import Released, Status
from l2c.evaluate import quality
from l2c.evaluate.plausibility import Reference
from l2c.evaluate.plausibility import plausibility as measure_plausibility


@dataclass(frozen=True, slots=True)
class Scorecard:
    """The quality of a release; shares are fractions from 0 to 1, None where there is nothing to measure.

    Parameters
    ----------
    validity, coverage
        The share of the counterfactuals asked for that are valid; the share of inputs with at least one.
    sparsity, minimum_sparsity
        The share of features left as they were; the share that never moves.
    diversity
        The mean pairwise distance, by level, over the valid ones of an input.
    harmonic_mean, harmonic_mean_with_target
        H(N), of sparsity and diversity; H(N+1), with the target column counted in diversity.
    unary, binary
        The share of counterfactuals that keep the directions, and the rules between features.
    immutable_violations
        The number of cells that changed and never may.
    distinct
        The share of different rows in a set.
    plausibility, distance_ratio, plausibility_left_out
        The share within the distance of real people; the mean distance in units of theirs; the number of
        counterfactuals left out for want of real rows. All None without a reference.
    tries
        The number of proposals judged for each counterfactual released.
    mean_changes
        The number of features that a counterfactual changes.
    inputs, answered, statuses
        The number of input rows, of those in the denominators, and of those with each outcome.
    """

    validity: float | None
    coverage: float | None
    sparsity: float | None
    minimum_sparsity: float
    diversity: float | None
    harmonic_mean: float | None
    harmonic_mean_with_target: float | None
    unary: float | None
    binary: float | None
    immutable_violations: int
    distinct: float | None
    plausibility: float | None
    distance_ratio: float | None
    plausibility_left_out: int | None
    tries: float | None
    mean_changes: float | None
    inputs: int
    answered: int
    statuses: dict[Status, int]

    def to_dict(self) -> dict[str, object]:
        """Return the card as plain data that JSON can hold."""
        return asdict(self)


def scorecard(released: Released, reference: Reference | None = None) -> Scorecard:
    """The card of a release; plausibility is on it if there is a reference to measure it by."""
    sparsity, diversity = quality.sparsity(released), quality.diversity(released)
    with_target = quality.with_target_counted(diversity, len(released.layout.axes))
    near = measure_plausibility(released, reference) if reference else None
    return Scorecard(
        validity=quality.validity(released),
        coverage=quality.coverage(released),
        sparsity=sparsity,
        minimum_sparsity=quality.minimum_sparsity(released.layout.schema),
        diversity=diversity,
        harmonic_mean=quality.harmonic_mean(sparsity, diversity),
        harmonic_mean_with_target=quality.harmonic_mean(sparsity, with_target),
        unary=quality.unary(released),
        binary=quality.binary(released),
        immutable_violations=quality.immutable_violations(released),
        distinct=quality.distinct(released),
        plausibility=near.share if near else None,
        distance_ratio=near.distance_ratio if near else None,
        plausibility_left_out=near.left_out if near else None,
        tries=quality.tries(released),
        mean_changes=quality.mean_changes(released),
        inputs=len(released.outcomes),
        answered=int(released.answered.sum()),
        statuses=_statuses(released),
    )


def _statuses(released: Released) -> dict[Status, int]:
    counts = Counter(outcome.status for outcome in released.outcomes)
    return {status: counts[status] for status in get_args(Status)}
