"""The reference law: what people of a class are like, as a tree of pairwise dependences.

A Chow–Liu tree (1968) joins the features along the pairs that tell most about each other; each feature then has
a table of its levels given its parent's. The tables are shrunk towards each feature's own frequencies, as if so
many more rows had been seen in which it depends on nothing. It is a model, never a store of rows.

How unlikely a row is, is told by its *likeness*: how like it someone drawn from the law is expected to be. One rare
level makes a row improbable, though it may be like many people in everything else; and the next bin of a number is
nearer than the last. So a row of greater likeness has people nearer to it, more surely than one of greater probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.layout import Layout
from l2c.core.types import Levels
from l2c.engine.likeness import Trunk, trunk_of

SHRINKAGE = 20.0
"""Rows' worth of independence in every table. Chosen on the dev splits of four data sets: among 1, 5, 10, 20 and
40 it told plausible from implausible proposals best overall."""

NARROWNESS = 3.0
"""How fast two people cease to be alike as they differ. On the dev splits of three data sets, 3 told plausible from
implausible proposals best overall, of 1, 1.5, 2, 3, 4 and 6, and far better than the probability did on two of them."""

TYPICAL = 0.25
"""The quantile of the training rows' likeness below which a row begins to count as unlikely."""


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceLaw:
    """The law of one class.

    Parameters
    ----------
    order
        The features from the root outwards: a parent stands before its children.
    parent
        The parent of each feature, −1 for the root.
    tables
        For each feature, the probability of its levels given each level of its parent.
    alike
        For each feature, how alike any two of its levels are, from 1 for the same.
    typical, spread
        The log-likeness of a typical training row (its lower quartile), and the standard deviation.
    """

    order: Int64[np.ndarray, " features"]
    parent: Int64[np.ndarray, " features"]
    tables: tuple[Float64[np.ndarray, "parent_levels levels"], ...]
    alike: tuple[Float64[np.ndarray, "levels levels"], ...]
    typical: float
    spread: float
    trunk: Trunk = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trunk", trunk_of(self.order, self.parent, self.tables, self.alike))

    def log_likeness(self, levels: Levels) -> Float64[np.ndarray, " rows"]:
        """Return the logarithm of how alike each row and someone drawn from the law are expected to be."""
        return self.trunk.log_likeness(levels)

    def unlikeliness(
        self, levels: Levels, which: Int64[np.ndarray, " some"] | None = None
    ) -> Float64[np.ndarray, " some"]:
        """Return how far each row, or each of some, lies below a typical one in likeness.

        It is told in standard deviations, and 0 for those above.
        """
        told = self.trunk.log_likeness(levels, which)
        told = np.subtract(self.typical, told, out=told)
        told /= self.spread
        return np.maximum(told, 0.0, out=told)


def fit_reference(layout: Layout, levels: Levels) -> ReferenceLaw:
    """Return the law of the rows with these levels."""
    counts = _joint_counts(layout, levels)
    parent, order = _tree(_mutual_information(layout, counts))
    tables = tuple(_table(layout, counts, i, int(parent[i])) for i in range(len(parent)))
    law = ReferenceLaw(order, parent, tables, _likeness(layout), 0.0, 1.0)
    seen = law.log_likeness(levels) if len(levels) else np.zeros(1)
    return replace(law, typical=float(np.quantile(seen, TYPICAL)), spread=float(seen.std()) or 1.0)


def _likeness(layout: Layout) -> tuple[Float64[np.ndarray, "levels levels"], ...]:
    """Return how alike any two levels of each feature are: bins by how many lie between, others are the same or not."""
    tables = []
    for axis, feature in zip(layout.axes, layout.schema.features, strict=True):
        apart = 1 - np.eye(axis.size)
        if feature.numeric:
            bins = np.arange(axis.known)
            apart[: axis.known, : axis.known] = np.abs(bins[:, None] - bins) / axis.known
        tables.append(np.exp(-NARROWNESS * apart))
    return tuple(tables)


def _joint_counts(layout: Layout, levels: Levels) -> Float64[np.ndarray, "width width"]:
    """Return how often any two levels stand in one row."""
    hot = layout.one_hot(levels)
    return (hot.T @ hot).astype(np.float64)


def _part(layout: Layout, counts: np.ndarray, i: int, j: int) -> Float64[np.ndarray, "first second"]:
    rows, columns = layout.offsets[i], layout.offsets[j]
    return counts[rows : rows + layout.sizes[i], columns : columns + layout.sizes[j]]


def _mutual_information(layout: Layout, counts: np.ndarray) -> Float64[np.ndarray, "features features"]:
    features = len(layout.axes)
    information = np.zeros((features, features))
    for i in range(features):
        for j in range(i):
            joint = _part(layout, counts, i, j) + 1 / (layout.sizes[i] * layout.sizes[j])
            joint = joint / joint.sum()
            independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
            information[i, j] = information[j, i] = (joint * np.log(joint / independent)).sum()
    return information


def _tree(
    information: Float64[np.ndarray, "features features"],
) -> tuple[Int64[np.ndarray, " features"], Int64[np.ndarray, " features"]]:
    """Return the parents and the order of the tree of greatest total information, grown from feature 0."""
    features = len(information)
    parent, order = np.full(features, -1), [0]
    while len(order) < features:
        outside = np.setdiff1d(np.arange(features), order)
        reach = information[np.array(order)[:, None], outside]
        near, far = np.unravel_index(int(reach.argmax()), reach.shape)
        parent[outside[far]] = order[near]
        order.append(int(outside[far]))
    return parent, np.array(order)


def _table(layout: Layout, counts: np.ndarray, i: int, parent: int) -> Float64[np.ndarray, "parent_levels levels"]:
    alone = np.diagonal(_part(layout, counts, i, i)) + 1 / layout.sizes[i]
    marginal = alone / alone.sum()
    if parent < 0:
        return marginal[None, :]
    joint = _part(layout, counts, parent, i) + SHRINKAGE * marginal
    return joint / joint.sum(axis=1, keepdims=True)


def to_arrays(name: str, law: ReferenceLaw) -> dict[str, np.ndarray]:
    """Return a law's arrays under flat names, for a file."""
    parts = {"table": law.tables, "alike": law.alike}
    tables = {f"{name}.{kind}.{i}": np.ascontiguousarray(one) for kind in parts for i, one in enumerate(parts[kind])}
    return tables | {
        f"{name}.order": law.order,
        f"{name}.parent": law.parent,
        f"{name}.scale": np.array([law.typical, law.spread]),
    }


def from_arrays(name: str, arrays: Mapping[str, np.ndarray]) -> ReferenceLaw:
    """Return the law that `to_arrays` wrote under this name."""
    parent = arrays[f"{name}.parent"]
    tables, alike = (tuple(arrays[f"{name}.{kind}.{i}"] for i in range(len(parent))) for kind in ("table", "alike"))
    typical, spread = arrays[f"{name}.scale"].tolist()
    return ReferenceLaw(arrays[f"{name}.order"], parent, tables, alike, typical, spread)
