"""Who can be told apart in a release: equivalence classes, and what is counted over them.

Samples (counterfactuals) whose quasi-identifiers agree form a class. A *table* is what an attacker holds: the set of
one input, or the whole release. A share is taken in every table and then averaged over the tables, as the paper
averages over its inputs; the whole release is one table, so there it is the share itself.

A figure is None, never NaN, where there is nothing to count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64, Shaped

from l2c.core.closeness import class_distances
from l2c.core.identities import distinct, identities
from l2c.core.types import Mask

PerSample = Int64[np.ndarray, " samples"]
PerClass = Int64[np.ndarray, " classes"]


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The equivalence classes of a release, each inside one table.

    Parameters
    ----------
    of
        The class of each sample.
    first
        The position of one sample of each class, to look up what its samples share.
    sizes
        The number of samples in each class.
    table
        The table that each class belongs to, counted from 0 without a gap.
    person
        The person (the input row) of each sample, counted from 0 without a gap; None where nobody says.
    people
        The number of different people in each class; None where nobody says.
    """

    of: PerSample
    first: PerClass
    sizes: PerClass
    table: PerClass
    person: PerSample | None
    people: PerClass | None

    @property
    def tables(self) -> int:
        """The number of tables that hold a sample."""
        return int(self.table.max()) + 1 if len(self.table) else 0


def classes(keys: Shaped[np.ndarray, " samples"], row: Shaped[np.ndarray, " samples"] | None = None) -> Classes:
    """The classes of the whole release, as one table.

    Parameters
    ----------
    keys
        A value for each sample, the same where the quasi-identifiers are (`quality.identities`).
    row
        The input row of each sample: who the person is.

    Examples
    --------
    >>> found = classes(np.array([7, 7, 9, 7]), row=np.array([0, 0, 0, 1]))
    >>> found.sizes, found.people
    (array([3, 1]), array([2, 1]))
    """
    return _classes(keys, np.zeros(len(keys), dtype=np.int64), None if row is None else _gapless(row))


def classes_of_sets(keys: Shaped[np.ndarray, " samples"], row: Shaped[np.ndarray, " samples"]) -> Classes:
    """The classes inside the set of each input row, a table for each.

    Examples
    --------
    >>> found = classes_of_sets(np.array([7, 7, 9, 7]), row=np.array([0, 0, 0, 1]))
    >>> found.sizes, found.table
    (array([2, 1, 1]), array([0, 0, 1]))
    """
    person = _gapless(row)
    return _classes(keys, person, person)


def _gapless(row: Shaped[np.ndarray, " samples"]) -> PerSample:
    return np.unique(row, return_inverse=True)[1]


def _classes(keys: Shaped[np.ndarray, " samples"], table: PerSample, person: PerSample | None) -> Classes:
    _, first, of, sizes = np.unique(
        identities([table, keys]), return_index=True, return_inverse=True, return_counts=True
    )
    people = None if person is None else distinct(of, person, len(sizes))
    return Classes(of, first, sizes, table[first], person, people)


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a table some of its classes are: the share of its classes, of its samples, and of its people.

    A person is as exposed as their most exposed sample: `people` is the share of those with a sample in one of the
    classes, over all tables at once.
    """

    classes: float | None
    samples: float | None
    people: float | None


def share(found: Classes, exposed: Mask, among: Mask | None = None) -> Share:
    """The share of the exposed classes among some or all, mean over the tables that have any of those.

    Examples
    --------
    >>> found = classes(np.array([7, 7, 9, 7]), row=np.array([0, 0, 0, 1]))
    >>> share(found, found.sizes == 1)
    Share(classes=0.5, samples=0.25, people=0.5)
    """
    among = np.ones(len(found.sizes), dtype=bool) if among is None else among
    exposed = exposed & among
    return Share(
        classes=_mean_ratio(found.table, exposed, among),
        samples=_mean_ratio(found.table, exposed * found.sizes, among * found.sizes),
        people=share_of_people(found, exposed[found.of], among[found.of]),
    )


def _mean_ratio(
    table: PerClass, part: Shaped[np.ndarray, " classes"], whole: Shaped[np.ndarray, " classes"]
) -> float | None:
    parts, wholes = (np.bincount(table, weights=weights) for weights in (part, whole))
    held = wholes > 0
    return float((parts[held] / wholes[held]).mean()) if held.any() else None


def share_of_people(found: Classes, chosen: Mask, among: Mask) -> float | None:
    """The share of people with a chosen sample among those with any of some samples; None if nobody says who."""
    if found.person is None:
        return None
    some, all_of_them = (int((np.bincount(found.person[mask]) > 0).sum()) for mask in (chosen, among))
    return some / all_of_them if all_of_them else None


def mean_over_samples(found: Classes, values: Shaped[np.ndarray, " classes"]) -> float | None:
    """The mean over a table's samples of a number that each class has, then over the tables."""
    return _mean_ratio(found.table, values * found.sizes, found.sizes)


def mean_over_people(found: Classes, values: Shaped[np.ndarray, " classes"]) -> float | None:
    """The mean over people of the highest number (from 0 on) that a class with a sample of theirs has."""
    if found.person is None or not len(found.person):
        return None
    highest = np.zeros(int(found.person.max()) + 1)
    np.maximum.at(highest, found.person, values[found.of])
    return float(highest.mean())


def smallest(counts: PerClass | None) -> int | None:
    """The least of some counts: the k of k-anonymity, the l of l-diversity."""
    return None if counts is None or not len(counts) else int(counts.min())


def distances(
    found: Classes, levels: PerSample, *, known: int, size: int, ordered: bool
) -> Float64[np.ndarray, " classes"]:
    """The distance of each class's distribution of a sensitive feature from that of its table.

    It is the earth mover's distance, from 0 (alike) to 1. Between levels in an order the ground distance is the number
    of steps in units of the whole way; between levels without one it is 1, and then the earth mover's distance is half
    the sum of the absolute differences. The largest over all classes is the t of t-closeness.

    "Missing" has no place in an order: it is 1 away from every level. What is missing on one side only is taken from
    all levels in proportion, which may not be the cheapest way to move it: t is never stated too low.

    Parameters
    ----------
    levels
        The sensitive feature's level of each sample.
    known, size
        The number of levels that stand for a value, and of all; where they differ, the last one is "missing".
    ordered
        Whether the levels are in an order.

    Examples
    --------
    >>> found = classes(np.array([0, 0, 1, 1]))
    >>> distances(found, np.array([0, 0, 0, 1]), known=3, size=3, ordered=True)
    array([0.125, 0.125])
    >>> distances(found, np.array([0, 0, 0, 1]), known=3, size=3, ordered=False)
    array([0.25, 0.25])
    """
    return class_distances(found.of, found.table, levels, known=known, size=size, ordered=ordered)
