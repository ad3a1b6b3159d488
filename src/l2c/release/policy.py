"""The privacy policy of a release: what every class of people in it must be like.

A class is all rows of a table that agree on the quasi-identifiers, by level, and on the predicted class. In the scope
of a set the table is one person's set; in the scope of a release it is all sets together. Classes do not overlap, so
that taking one away changes no other; only closeness (t) is measured against the whole table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float64, Int16, Int64

from l2c.core.closeness import TIE, class_distances
from l2c.core.coarse import Merged, ladder
from l2c.core.identities import distinct, equal_among, identities
from l2c.core.layout import Layout, places
from l2c.core.types import Levels, Mask

Scope = Literal["set", "release"]
Count = Literal["samples", "people"]
PerRow = Int64[np.ndarray, " n"]


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """How many rows of a population share each combination of quasi-identifiers, by level.

    Parameters
    ----------
    levels, label
        The population's quasi-identifying levels, and the class that the model puts each row in; None where nobody
        says, and then people are looked up by the other quasi-identifiers alone.
    """

    levels: Int16[np.ndarray, "population quasi"]
    label: Int64[np.ndarray, " population"] | None = None

    def matches(self, levels: Levels, label: PerRow) -> PerRow:
        """Return how many rows of the population match each of some rows, by quasi-identifying levels."""
        own, theirs = [*levels.T], [*self.levels.T]
        if self.label is not None:
            own, theirs = [*own, label], [*theirs, self.label]
        return equal_among(own, theirs)


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """What every class of a release must be like.

    Parameters
    ----------
    layout
        The features with their roles and levels.
    k
        The least size of a class.
    l
        The least number of different values of each sensitive feature in a class.
    t
        The most that a class may differ from its table in a sensitive feature.
    k_map, crowd
        The least number of rows of a population that a class matches, if it matches any; and that population.
    scope, count
        Whether a table is a set or the whole release, and whether k counts samples or people.
    generalise
        Whether a row that cannot keep the policy may be told in coarser levels.
    merged
        The levels as which the quasi-identifiers are told; None for levels as they are.
    """

    layout: Layout
    k: int
    l: int | None = None  # noqa: E741  # its name in the literature
    t: float | None = None
    k_map: int | None = None
    crowd: Crowd | None = None
    scope: Scope = "set"
    count: Count = "samples"
    generalise: bool = False
    merged: Merged | None = None

    @property
    def quasi(self) -> Int64[np.ndarray, " quasi"]:
        """The places of the quasi-identifiers."""
        return places(self.layout, "quasi")

    @property
    def sensitive(self) -> Int64[np.ndarray, " sensitive"]:
        """The places of the sensitive features, where anything is asked of them."""
        return places(self.layout, "sensitive") if self.l is not None or self.t is not None else np.empty(0, np.int64)

    @property
    def words(self) -> str:
        """The policy in short."""
        told = [
            f"{name} = {value:g}" for name in ("k", "l", "t", "k_map") if (value := getattr(self, name)) is not None
        ]
        counted = " people" if self.count == "people" else ""
        return f"{told[0]}{counted}" + "".join(f", {one}" for one in told[1:])

    def coarsened(self) -> tuple[Policy, ...]:
        """Return the policy over ever coarser levels, as far as it allows that; the first is itself."""
        return (self, *(replace(self, merged=merged) for merged in ladder(self.layout)[1:] if self.generalise))

    def shown(self, levels: Levels) -> Int16[np.ndarray, "n quasi"]:
        """Return the quasi-identifying levels of rows as they are published."""
        own = levels[:, self.quasi]
        return own if self.merged is None else self.merged[own + self.layout.offsets[self.quasi]]

    def classes(self, table: PerRow, levels: Levels, label: PerRow) -> Classes:
        """Return the classes of rows, each inside one table."""
        keys = self._keys(levels, label)
        _, code = np.unique(keys, return_inverse=True)
        _, of = np.unique(table * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
        return Classes(self, of, table, levels, label)

    def may_leave(self, table: PerRow, levels: Levels, label: PerRow) -> Mask:
        """Return which rows are in a class that is let out if all of it is released.

        What people have in common is not known from a part of them: there every one may.
        """
        if self.count == "people":
            return np.ones(len(table), dtype=bool)
        found = self.classes(table, levels, label)
        return found.met()[found.of]

    def _keys(self, levels: Levels, label: PerRow) -> PerRow:
        """Return a number for each row, the same where the class is."""
        shown, bound = self.shown(levels), float(label.max(initial=0) + 1)
        sizes = self.layout.sizes[self.quasi]
        if bound * np.prod(sizes.astype(float)) >= 2**62:
            return identities([*shown.T, label])
        number = label.astype(np.int64)
        for column, size in zip(shown.T, sizes, strict=True):
            number = number * size + column
        return number


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The classes of some rows under a policy.

    Parameters
    ----------
    of
        The class of each row, counted from 0 without a gap.
    table, levels, label
        The table that each row stands in, its levels, and the class that the model puts it in.
    """

    policy: Policy
    of: PerRow
    table: PerRow
    levels: Levels
    label: PerRow

    @property
    def count(self) -> int:
        return int(self.of.max(initial=-1)) + 1

    def large(self, person: PerRow | None = None) -> Mask:
        """Return which classes have at least k members: rows, or people where their person is told."""
        sizes = np.bincount(self.of, minlength=self.count) if person is None else distinct(self.of, person, self.count)
        return np.asarray(sizes >= self.policy.k)

    def diverse(self) -> Mask:
        """Return which classes have at least l values of every sensitive feature."""
        good = np.ones(self.count, dtype=bool)
        if self.policy.l is not None:
            for place in self.policy.sensitive:
                good &= distinct(self.of, self.levels[:, place].astype(np.int64), self.count) >= self.policy.l
        return good

    def unlinked(self) -> Mask:
        """Return which classes match no row of the population, or at least k_map."""
        policy = self.policy
        if policy.crowd is None or policy.k_map is None:
            return np.ones(self.count, dtype=bool)
        first = np.zeros(self.count, dtype=np.int64)
        first[self.of[::-1]] = np.arange(len(self.of))[::-1]
        crowd = policy.crowd
        if policy.merged is not None:
            shown = policy.merged[crowd.levels + policy.layout.offsets[policy.quasi]]
            crowd = Crowd(shown, crowd.label)
        matches = crowd.matches(policy.shown(self.levels[first]), self.label[first])
        return np.asarray((matches == 0) | (matches >= policy.k_map))

    def met(self, person: PerRow | None = None) -> Mask:
        """Return which classes keep all of the policy that does not depend on other classes."""
        counted = person if self.policy.count == "people" else None
        return self.large(counted) & self.diverse() & self.unlinked()

    def distances(self) -> Float64[np.ndarray, " classes"]:
        """Return the largest distance of each class from its table, over the sensitive features."""
        _, table = np.unique(self.table, return_inverse=True)
        of_class = np.zeros(self.count, dtype=np.int64)
        of_class[self.of] = table
        apart = np.zeros(self.count)
        layout = self.policy.layout
        for place in self.policy.sensitive:
            axis, ordered = layout.axes[place], layout.schema.features[place].ordered
            levels = self.levels[:, place].astype(np.int64)
            one = class_distances(self.of, of_class, levels, known=axis.known, size=axis.size, ordered=ordered)
            apart = np.maximum(apart, one)
        return apart


def kept(policy: Policy, row: PerRow, levels: Levels, label: PerRow, among: Mask | None = None) -> Mask:
    """Return which rows may leave: those that are left when no class breaks the policy any more.

    Parameters
    ----------
    row
        The person of each row.
    among
        The rows that are there at all.
    """
    left = np.ones(len(row), dtype=bool) if among is None else among.copy()
    table = row if policy.scope == "set" else np.zeros_like(row)
    here = np.flatnonzero(left)
    found = policy.classes(table[here], levels[here], label[here])
    left[here] = found.met(row[here])[found.of]
    while policy.t is not None:
        here = np.flatnonzero(left)
        found = policy.classes(table[here], levels[here], label[here])
        gone = _farthest(found, policy.t)
        if not gone.any():
            break
        left[here[gone[found.of]]] = False
    return left


def kept_by_steps(policy: Policy, step: PerRow, row: PerRow, levels: Levels, label: PerRow) -> Mask:
    """Return which rows may leave, where those of each person are told in levels as coarse as its step."""
    left = np.zeros(len(row), dtype=bool)
    for number, coarse in enumerate(policy.coarsened()):
        here = np.flatnonzero(step[row] == number)
        left[here] = kept(coarse, row[here], levels[here], label[here])
    return left


def _farthest(found: Classes, allowed: float) -> Mask:
    """Return, of the classes of each table that are too far from it, the farther half: the rest may then be near."""
    apart = found.distances()
    gone = apart > allowed + TIE
    table = np.zeros(found.count, dtype=np.int64)
    table[found.of] = found.table
    order = np.lexsort((-apart, ~gone, table))
    order = order[gone[order]]
    place = np.arange(len(order)) - np.searchsorted(table[order], table[order], side="left")
    many = np.searchsorted(table[order], table[order], side="right") - np.searchsorted(table[order], table[order])
    first = np.zeros(found.count, dtype=bool)
    first[order[2 * place < many]] = True
    return first
