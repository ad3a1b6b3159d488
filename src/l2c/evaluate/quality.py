"""How good a release is by the measures of the paper, over all its counterfactuals at once.

Inputs that policy or proof excludes are outside every denominator (`Released.answered`), and so is anything
released for them. A measure is None, never NaN, where its denominator is empty: shares of the inputs when none
is answered, shares of the counterfactuals when none was released, unary and binary when no rule is declared.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Int64, Shaped

from l2c.core.explanation import Released
from l2c.core.feature import Moves
from l2c.core.identities import identities
from l2c.core.rules import meets_rule
from l2c.core.schema import Schema
from l2c.core.types import Cells, Mask


def validity(released: Released) -> float | None:
    """Share of the counterfactuals asked for that are valid, mean over the answered inputs.

    One that is missing counts as invalid.
    """
    return _mean(_valid_of_each_input(released)[released.answered] / released.asked)


def coverage(released: Released) -> float | None:
    """Share of the answered inputs with at least one valid counterfactual."""
    return _mean(_valid_of_each_input(released)[released.answered] > 0)


def sparsity(released: Released) -> float | None:
    """Share of features that keep the factual's exact value, mean over each set, then over the sets."""
    return _mean_over_sets(released, 1 - changed_cells(released).mean(axis=1))


def mean_changes(released: Released) -> float | None:
    """Number of features that changed, mean over each set, then over the sets."""
    return _mean_over_sets(released, changed_cells(released).sum(axis=1))


def diversity(released: Released) -> float | None:
    """Mean pairwise Hamming distance by level over the valid ones of an input, mean over the answered inputs.

    An input with fewer than two valid counterfactuals has none, that is 0. Of the m² ordered pairs of a set,
    Σ c² agree on a feature, where c counts each of its levels, so no pair is ever looked at.
    """
    row, levels = released.row[released.valid], released.levels[released.valid]
    inputs, features = len(released.outcomes), len(released.layout.axes)
    valid = _valid_of_each_input(released)
    differing = features * valid**2
    for i, size in enumerate(released.layout.sizes):
        counts = np.bincount(row * size + levels[:, i], minlength=inputs * size).reshape(inputs, size)
        differing -= (counts**2).sum(axis=1)
    pairs = features * valid * (valid - 1)
    return _mean((differing / np.maximum(pairs, 1))[released.answered])


def harmonic_mean(sparsity: float | None, diversity: float | None) -> float | None:
    """H, the harmonic mean of two averages; None where one of them is None.

    Examples
    --------
    >>> harmonic_mean(0.6, 0.3)
    0.4
    >>> harmonic_mean(0.0, 0.0)
    0.0
    """
    if sparsity is None or diversity is None:
        return None
    total = sparsity + diversity
    return 2 * sparsity * diversity / total if total else 0.0


def with_target_counted(diversity: float | None, features: int) -> float | None:
    """Diversity as the authors' release counts it: the target is one more column, on which all agree.

    Examples
    --------
    >>> with_target_counted(0.5, features=4)
    0.4
    """
    return None if diversity is None else diversity * features / (features + 1)


def unary(released: Released) -> float | None:
    """Share of the counterfactuals that keep a feature's direction, mean over the features that have one.

    Numbers are compared by released value and the others by level. A change from or to missing has no
    direction, so it keeps none.
    """
    before, after = _pairs(released)
    return _mean_share(
        _keeps_direction(feature.moves, before[:, i], after[:, i])
        for i, feature in enumerate(released.layout.schema.features)
        if feature.moves in ("rises", "falls")
    )


def binary(released: Released) -> float | None:
    """Share of the counterfactuals that meet a rule between two features, mean over the rules."""
    counted, schema = _counted(released), released.layout.schema
    before = released.layout.levels(released.factual)[released.row[counted]]
    after = released.levels[counted]
    return _mean_share(meets_rule(rule, schema.names, before, after) for rule in schema.rules)


def immutable_violations(released: Released) -> int:
    """Number of cells of features that never move in which a counterfactual differs from its factual.

    Everything that was released counts here, whatever its input's outcome.
    """
    return int(changed_cells(released)[:, ~released.layout.schema.mutable].sum())


def minimum_sparsity(schema: Schema) -> float:
    """Share of the features that never move: the sparsity that no counterfactual may fall below."""
    return float((~schema.mutable).mean())


def distinct(released: Released) -> float | None:
    """Share of different rows in a set, by value, mean over the sets; below 1 where a set was padded."""
    first = np.zeros(len(released.row), dtype=bool)
    first[np.unique(identities([released.row, *released.cells.T]), return_index=True)[1]] = True
    return _mean_over_sets(released, first)


def tries(released: Released) -> float | None:
    """Number of proposals judged for each counterfactual released, all inputs together."""
    return released.tries / len(released.row) if len(released.row) else None


def changed_cells(released: Released) -> Mask:
    """Which cells of the counterfactuals differ from their factual's; missing equals missing."""
    return _differ(released.factual[released.row], released.cells)


def _valid_of_each_input(released: Released) -> Int64[np.ndarray, " rows"]:
    return np.bincount(released.row[released.valid], minlength=len(released.outcomes))


def _counted(released: Released) -> Mask:
    return released.answered[released.row]


def _pairs(released: Released) -> tuple[Cells, Cells]:
    counted = _counted(released)
    return released.factual[released.row[counted]], released.cells[counted]


def _mean(values: Shaped[np.ndarray, " any"]) -> float | None:
    return float(values.mean()) if len(values) else None


def _mean_share(masks: Iterable[Mask]) -> float | None:
    return _mean(np.array([mask.mean() for mask in masks if len(mask)]))


def _mean_over_sets(released: Released, values: Shaped[np.ndarray, " found"]) -> float | None:
    inputs = len(released.outcomes)
    found = np.bincount(released.row, minlength=inputs)
    total = np.bincount(released.row, weights=values, minlength=inputs)
    has_set = released.answered & (found > 0)
    return _mean(total[has_set] / found[has_set])


def _differ(a: Cells, b: Cells) -> Mask:
    return np.asarray((a != b) & ~(np.isnan(a) & np.isnan(b)))


def _keeps_direction(moves: Moves, before: Cells, after: Cells) -> Mask:
    onwards = after > before if moves == "rises" else after < before
    return np.asarray(onwards | ~_differ(before, after))
