"""How close counterfactuals are to real people: Gower distance to the nearest real row of the desired class.

It only measures. Neither proposing nor selection may consult the reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Float64, Int64

from l2c.core.explanation import Released
from l2c.core.identities import identities
from l2c.core.types import Cells, Mask

REAL_SHARE = 0.95
"""The share of real people that the threshold lets pass."""

Column = Float[np.ndarray, "*some"]
"""Values of one feature, in float32 where only their order matters."""

_TIE = 1e-9
"""A distance that exceeds the threshold by no more equals it, but for rounding."""

_QUERY_BLOCK, _FIT_BLOCK = 1024, 4096
_FEW = 48
"""Up to so many different values of a feature in a block, a matrix product beats comparing all pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Real rows and the class that the model puts each in: those it was fitted on, and others."""

    fit: Cells
    fit_class: Int64[np.ndarray, " fit"]
    held_out: Cells
    held_out_class: Int64[np.ndarray, " held_out"]


@dataclass(frozen=True, slots=True)
class Plausibility:
    """How close the counterfactuals are to real people, compared with how close real people are.

    Parameters
    ----------
    share
        The share of counterfactuals within the threshold of their desired class; None if none was measured.
    distance_ratio
        Their mean distance divided by that of real people, weighted by the number of counterfactuals of each
        class; None too where real people are at no distance at all.
    thresholds
        The threshold of each of the model's classes; None where no counterfactual was measured.
    left_out
        The number of counterfactuals whose desired class has no fit row or no held-out row.
    """

    share: float | None
    distance_ratio: float | None
    thresholds: tuple[float | None, ...]
    left_out: int


@dataclass(frozen=True, slots=True, eq=False)
class Gower:
    """A distance between rows, the mean over the features of a difference.

    That of a graded feature is absolute and in units of its range, that of any other is 0 if equal and else 1,
    and so it is where a value is missing. Numeric features are graded unless their range is 0.
    """

    low: Float64[np.ndarray, " features"]
    span: Float64[np.ndarray, " features"]
    graded: Mask

    @classmethod
    def over(cls, fit: Cells, numeric: Mask) -> Gower:
        """Return the distance in units of the ranges of these rows."""
        low = np.fmin.reduce(fit, axis=0, initial=np.inf)
        span = np.fmax.reduce(fit, axis=0, initial=-np.inf) - low
        graded = numeric & (span > 0)
        return cls(np.where(graded, low, 0.0), np.where(graded, span, 1.0), graded)

    def scale(self, cells: Cells) -> Cells:
        """Return rows in the units of this distance, which the other methods expect."""
        return (cells - self.low) / self.span

    def apart(self, feature: int, a: Column, b: Column) -> Float[np.ndarray, "*pairs"]:
        """Return the difference in one feature between scaled values, which broadcast."""
        apart = np.abs(a - b) if self.graded[feature] else (a != b).astype(a.dtype)
        no_a, no_b = np.isnan(a), np.isnan(b)
        return np.where(no_a | no_b, no_a != no_b, apart) if no_a.any() or no_b.any() else apart

    def between(self, a: Cells, b: Cells) -> Float64[np.ndarray, " rows"]:
        """Return the distance between scaled rows, pair by pair.

        Examples
        --------
        >>> gower = Gower.over(np.array([[20.0, 0.0], [60.0, 1.0]]), numeric=np.array([True, False]))
        >>> gower.between(gower.scale(np.array([[30.0, 0.0]])), gower.scale(np.array([[40.0, 1.0]])))
        array([0.625])
        """
        features = range(a.shape[1])
        return np.asarray(sum(self.apart(i, a[:, i], b[:, i]) for i in features) / len(features))


def plausibility(released: Released, reference: Reference) -> Plausibility:
    """The share of counterfactuals that are as close to real data as real people are, and its parts.

    A counterfactual's distance is that to the nearest fit row which the model puts in the desired class of its
    input. The threshold of a class is the 95th percentile of that distance over the held-out rows in it.

    Parameters
    ----------
    released
        The counterfactuals; those of inputs outside the denominators do not count.
    reference
        The real rows, none of which may have been consulted to propose or to select.
    """
    return plausibilities([released], reference)[0]


def plausibilities(releases: Sequence[Released], reference: Reference) -> list[Plausibility]:
    """Return the plausibility of each of several releases; what they have in common is measured once.

    All must be of one layout, as those are that differ in how sets were chosen.
    """
    counted = [released.answered[released.row] for released in releases]
    pairs = list(zip(releases, counted, strict=True))
    cells = np.concatenate([released.cells[some] for released, some in pairs])
    desired = np.concatenate([released.desired[released.row[some]] for released, some in pairs])
    of = np.repeat(np.arange(len(releases)), [some.sum() for some in counted])
    numeric = np.array([feature.numeric for feature in releases[0].layout.schema.features])
    found = dict(_distances_by_class(cells, desired, reference, numeric))
    measured = []
    for index, released in enumerate(releases):
        mine = {label: one.take(of[desired == label] == index) for label, one in found.items()}
        mine = {label: one for label, one in mine.items() if len(one.counterfactuals)}
        measured.append(_measured(mine, len(released.classes), int((of == index).sum())))
    return measured


def _measured(found: Mapping[int, _Distances], classes: int, counterfactuals: int) -> Plausibility:
    measured = sum(len(one.counterfactuals) for one in found.values())
    return Plausibility(
        share=sum(one.within for one in found.values()) / measured if measured else None,
        distance_ratio=_distance_ratio(list(found.values())),
        thresholds=tuple(found[label].threshold if label in found else None for label in range(classes)),
        left_out=counterfactuals - measured,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Distances:
    """The distances to one class of the counterfactuals that desire it, and of the real people in it."""

    counterfactuals: Float64[np.ndarray, " wanted"]
    people: Float64[np.ndarray, " people"]

    def take(self, which: Mask) -> _Distances:
        """Return the distances of some of the counterfactuals."""
        return _Distances(self.counterfactuals[which], self.people)

    @property
    def threshold(self) -> float:
        return float(np.quantile(self.people, REAL_SHARE))

    @property
    def within(self) -> int:
        return int((self.counterfactuals <= self.threshold + _TIE).sum())


def _distances_by_class(
    cells: Cells, desired: Int64[np.ndarray, " found"], reference: Reference, numeric: Mask
) -> Iterator[tuple[int, _Distances]]:
    gower = Gower.over(reference.fit, numeric)
    for label in np.unique(desired):
        fit = reference.fit[reference.fit_class == label]
        people = reference.held_out[reference.held_out_class == label]
        if len(fit) and len(people):
            wanted = cells[desired == label]
            yield int(label), _Distances(_nearest(gower, wanted, fit), _nearest(gower, people, fit))


def _distance_ratio(found: list[_Distances]) -> float | None:
    if not found or not all(one.people.any() for one in found):
        return None
    measured = sum(len(one.counterfactuals) for one in found)
    return float(sum(one.counterfactuals.sum() / one.people.mean() for one in found) / measured)


def _nearest(gower: Gower, rows: Cells, fit: Cells) -> Float64[np.ndarray, " rows"]:
    """Return the distance of each row to the nearest of the fit rows, exact for that row.

    Which fit row is nearest is decided in float32: of two that differ by less than 1e-6 either may win.
    """
    # Sorted by the features with most values first, the rows of a block share most of those values.
    order = np.argsort([-len(np.unique(column)) for column in fit.T], kind="stable")
    rows, position = _different_rows(gower.scale(rows), order)
    fit, _ = _different_rows(gower.scale(fit), order)
    found = [_nearest_of_block(gower, block, fit) for block in _blocks(rows, _QUERY_BLOCK)]
    return np.concatenate(found)[position]


def _different_rows(cells: Cells, order: Int64[np.ndarray, " features"]) -> tuple[Cells, Int64[np.ndarray, " rows"]]:
    _, first, position = np.unique(identities(cells.T[order]), return_index=True, return_inverse=True)
    return cells[first], position


def _blocks(cells: Cells, size: int) -> Iterator[Cells]:
    return (cells[start : start + size] for start in range(0, len(cells), size))


def _nearest_of_block(gower: Gower, rows: Cells, fit: Cells) -> Float64[np.ndarray, " rows"]:
    block = _Block.of(rows)
    best = np.full(len(rows), np.inf)
    for some in _blocks(fit, _FIT_BLOCK):
        closest = some[block.differences(gower, some).argmin(axis=1)]
        best = np.minimum(best, gower.between(rows, closest))
    return best


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Rows in two parts: features with few different values as one-hot columns, and the others.

    A row's differences to all fit rows in the first part are then one matrix product: its one-hot vector picks,
    for each feature, the row of a table that holds the differences from that value.
    """

    rows: Cells
    few: tuple[tuple[int, Cells], ...]
    many: tuple[int, ...]
    hot: Float32[np.ndarray, "rows width"]

    @classmethod
    def of(cls, rows: Cells) -> _Block:
        """Return the parts of these rows."""
        seen = [np.unique(column, return_inverse=True) for column in rows.T]
        few = [i for i, (values, _) in enumerate(seen) if len(values) <= _FEW]
        many = [i for i, (values, _) in enumerate(seen) if len(values) > _FEW]
        hot = [np.eye(len(seen[i][0]), dtype=np.float32)[seen[i][1]] for i in few]
        return cls(
            rows,
            tuple((i, seen[i][0]) for i in few),
            tuple(many),
            np.concatenate([np.zeros((len(rows), 0), dtype=np.float32), *hot], axis=1),
        )

    def differences(self, gower: Gower, fit: Cells) -> Float32[np.ndarray, "rows fit"]:
        """Return the sum of the differences of every row to every fit row."""
        table = np.empty((self.hot.shape[1], len(fit)), dtype=np.float32)
        start = 0
        for i, values in self.few:
            table[start : start + len(values)] = gower.apart(i, values[:, None], fit[:, i])
            start += len(values)
        total = self.hot @ table
        rows, fit = self.rows.astype(np.float32), fit.astype(np.float32)
        for i in self.many:
            total += gower.apart(i, rows[:, i, None], fit[:, i])
        return total
