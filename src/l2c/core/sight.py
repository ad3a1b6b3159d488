"""What can be seen of a model over levels: a sum over the features, or a sum over decision trees.

Either way a class's score is a sum of parts that depend on levels alone, and the model puts a row in the class whose
score is strictly the largest. So questions about every combination of levels can be answered without asking the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float64, Int64

from l2c.core.layout import Layout
from l2c.core.types import Cells, Mask, Probabilities

Scores = Float64[np.ndarray, "rows classes"]
"""How much speaks for each class; only the differences between the classes of a row mean anything."""

Link = Literal["mean", "softmax"]
"""From scores to probabilities: the mean of the trees' own, or the softmax."""

GRID = 2**20
"""Summands that are whole multiples of 1 / GRID are added without any rounding, as the votes of pure leaves are."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A model over the levels that one person may take: what each level and each leaf adds to each class.

    Parameters
    ----------
    base
        What is added whatever the levels.
    entries
        What each place of the flat axis adds when it is taken.
    tree, box, leaf
        For every leaf that can be reached: its tree, the places that lead there, and what it adds. A row is in the one
        leaf of each tree whose box holds all of its places.
    alone
        Which features add something by themselves, even if what they add should cancel out.
    magnitude
        The largest sum that the summands could have, all counted as positive.
    exact
        Whether floating point adds the summands without rounding.
    """

    base: Float64[np.ndarray, " classes"]
    entries: Float64[np.ndarray, "width classes"]
    tree: Int64[np.ndarray, " leaves"]
    box: Bool[np.ndarray, "leaves width"]
    leaf: Float64[np.ndarray, "leaves classes"]
    alone: Bool[np.ndarray, " features"]
    magnitude: float
    exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class Additive:
    """A model whose scores are an intercept, a slope per number and an entry per other level.

    Parameters
    ----------
    slopes
        What a unit of each feature adds; 0 where it is not numeric.
    entries
        What each place of the flat axis adds: for a number, only where it is missing.
    gaps
        Which features were seen missing; the view says nothing of others that are.
    slack
        How far a difference of scores may be from the model's own.
    """

    layout: Layout
    intercept: Float64[np.ndarray, " classes"]
    slopes: Float64[np.ndarray, "features classes"]
    entries: Float64[np.ndarray, "width classes"]
    gaps: Bool[np.ndarray, " features"]
    slack: float = 0.0

    def tables(self, values: Float64[np.ndarray, " width"]) -> Float64[np.ndarray, "width classes"]:
        """Return what each place of the flat axis adds to each class, given the value that stands there."""
        return np.nan_to_num(values)[:, None] * self.slopes[self.layout.owner] + self.entries

    def parts(self, values: Float64[np.ndarray, " width"], allowed: Bool[np.ndarray, " width"]) -> Parts:
        """Return the model over the levels that are allowed."""
        tables = np.where(allowed[:, None], self.tables(values), 0.0)
        steepest = np.maximum.reduceat(np.abs(tables).max(axis=1), self.layout.offsets)
        magnitude = float(np.abs(self.intercept).max() + steepest.sum())
        return Parts(
            self.intercept,
            tables,
            np.zeros(0, dtype=np.int64),
            np.zeros((0, len(tables)), dtype=bool),
            np.zeros((0, len(self.intercept))),
            steepest > 0,
            magnitude,
            _exact(magnitude, tables, self.intercept),
        )

    def scores(self, cells: Cells) -> Scores:
        """Return the score of each class for whole rows."""
        places = self.layout.levels(cells) + self.layout.offsets
        slopes = np.nan_to_num(cells)[:, :, None] * self.slopes
        return self.intercept + (slopes + self.entries[places]).sum(axis=1)

    def proba(self, scores: Scores) -> Probabilities:
        """Return the probabilities that scores stand for."""
        return _softmax(scores)


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Decision trees over the columns of a matrix, as one list of nodes.

    Parameters
    ----------
    roots
        The first node of each tree.
    column
        The column that a node tests; -1 at a leaf.
    threshold
        The largest number that goes left; a test by `<` has the next smaller number here.
    subset, subsets
        For a node that tests codes instead, which of the subsets goes left, each a mask over codes; otherwise -1.
    missing_left
        Whether a missing value goes left.
    left, right
        The next node.
    value
        What a leaf adds to each class.
    """

    roots: Int64[np.ndarray, " trees"]
    column: Int64[np.ndarray, " nodes"]
    threshold: Float64[np.ndarray, " nodes"]
    subset: Int64[np.ndarray, " nodes"]
    subsets: Bool[np.ndarray, "subsets codes"]
    missing_left: Bool[np.ndarray, " nodes"]
    left: Int64[np.ndarray, " nodes"]
    right: Int64[np.ndarray, " nodes"]
    value: Float64[np.ndarray, "nodes classes"]

    @property
    def leaves(self) -> int:
        """The number of leaves of all trees."""
        return int((self.column < 0).sum())

    def goes_left(self, node: Int64[np.ndarray, "*some"], x: Float64[np.ndarray, "*some"]) -> Mask:
        """Return which of the values go left at their nodes."""
        left = x <= self.threshold[node]
        if len(self.subsets):
            code = np.clip(np.nan_to_num(x), 0, self.subsets.shape[1] - 1).astype(np.int64)
            left = np.where(self.subset[node] < 0, left, self.subsets[self.subset[node], code])
        return np.asarray(np.where(np.isnan(x), self.missing_left[node], left))

    def reached(self, inputs: Float64[np.ndarray, "rows columns"]) -> Int64[np.ndarray, "rows trees"]:
        """Return the leaf of each tree in which each row ends."""
        node = np.tile(self.roots, (len(inputs), 1))
        while (inner := self.column[node] >= 0).any():
            x = np.take_along_axis(inputs, np.maximum(self.column[node], 0), axis=1)
            onward = np.where(self.goes_left(node, x), self.left[node], self.right[node])
            node = np.where(inner, onward, node)
        return node


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """A model whose scores are a sum over the leaves of decision trees, each input of which depends on one feature.

    Parameters
    ----------
    forest
        The trees over the model's inputs.
    base
        What the sum over the trees starts from.
    link
        How the sum becomes probabilities.
    owner
        The feature that each input depends on; -1 for one that is the same for everybody.
    inputs
        The model's inputs for one and the same person with one feature set to one value: from features and values,
        equally many, to a matrix. Only the inputs that the feature owns are looked at.
    gaps
        Which features were seen missing; the view says nothing of others that are.
    slack
        How far a difference of scores may be from the model's own.
    """

    layout: Layout
    forest: Forest
    base: Float64[np.ndarray, " classes"]
    link: Link
    owner: Int64[np.ndarray, " columns"]
    inputs: Callable[[Int64[np.ndarray, " n"], Float64[np.ndarray, " n"]], Float64[np.ndarray, "n columns"]]
    gaps: Bool[np.ndarray, " features"]
    slack: float = 0.0

    def parts(self, values: Float64[np.ndarray, " width"], allowed: Bool[np.ndarray, " width"]) -> Parts:
        """Return the model over the levels that are allowed; a tree that looks at one feature is a table of it."""
        tree, node, box = self._boxes(values, allowed)
        leaf = self.forest.value[node]
        highest = np.zeros(len(self.forest.roots))
        np.maximum.at(highest, tree, np.abs(leaf).max(axis=1))
        looks = self._looks_at(tree, box, allowed)
        at_how_many = looks.sum(axis=1)
        fixed, folded = at_how_many[tree] == 0, at_how_many[tree] <= 1
        mine = box & looks[tree][:, self.layout.owner] & folded[:, None]
        magnitude = float(np.abs(self.base).max() + highest.sum())
        return Parts(
            self.base + leaf[fixed].sum(axis=0),
            mine.T.astype(np.float64) @ leaf,
            tree[~folded],
            box[~folded],
            leaf[~folded],
            looks[at_how_many == 1].any(axis=0),
            magnitude,
            _exact(magnitude, leaf, self.base),
        )

    def scores(self, cells: Cells) -> Scores:
        """Return the score of each class for whole rows, added up in the order of the trees."""
        reached = self.forest.reached(self.assembled(cells))
        scores = np.tile(self.base, (len(cells), 1))
        for leaf in reached.T:
            scores += self.forest.value[leaf]
        return scores

    def proba(self, scores: Scores) -> Probabilities:
        """Return the probabilities that scores stand for."""
        return scores / len(self.forest.roots) if self.link == "mean" else _softmax(scores)

    def assembled(self, cells: Cells) -> Float64[np.ndarray, "rows columns"]:
        """Return the model's inputs for whole rows, put together feature by feature."""
        found = [np.unique(column, return_inverse=True) for column in cells.T]
        sizes = [len(values) for values, _ in found]
        # One question for all features together: a model's steps are slow to start.
        pieces = self.inputs(np.repeat(np.arange(len(found)), sizes), np.concatenate([values for values, _ in found]))
        row = np.stack([where for _, where in found], axis=1) + np.cumsum([0, *sizes[:-1]])
        # What nobody owns is the same whatever the feature, so the first one brings it.
        return pieces[row[:, np.maximum(self.owner, 0)], np.arange(len(self.owner))]

    def _boxes(
        self, values: Float64[np.ndarray, " width"], allowed: Bool[np.ndarray, " width"]
    ) -> tuple[Int64[np.ndarray, " leaves"], Int64[np.ndarray, " leaves"], Bool[np.ndarray, "leaves width"]]:
        """Return the leaves that can be reached, by tree: the tree, the node, and the places that lead there."""
        owner = self.layout.owner
        inputs = np.zeros((len(values), len(self.owner)))
        inputs[allowed] = self.inputs(owner[allowed], values[allowed])
        tree, node = np.arange(len(self.forest.roots)), self.forest.roots
        box = np.tile(allowed, (len(node), 1))
        done: list[tuple[np.ndarray, ...]] = []
        while len(node):
            inner = self.forest.column[node] >= 0
            done.append((tree[~inner], node[~inner], box[~inner]))
            tree, node, box = tree[inner], node[inner], box[inner]
            column = self.forest.column[node]
            left = self.forest.goes_left(np.broadcast_to(node[:, None], box.shape), inputs[:, column].T)
            tested = (self.owner[column, None] == owner) | (self.owner[column, None] < 0)
            box = np.concatenate([box & (left | ~tested), box & ~(left & tested)])
            tree = np.tile(tree, 2)
            node = np.concatenate([self.forest.left[node], self.forest.right[node]])
            alive = np.logical_or.reduceat(box, self.layout.offsets, axis=1).all(axis=1)
            tree, node, box = tree[alive], node[alive], box[alive]
        tree, node, box = (np.concatenate(part) for part in zip(*done, strict=True))
        order = np.argsort(tree, kind="stable")
        return tree[order], node[order], box[order]

    def _looks_at(
        self, tree: Int64[np.ndarray, " leaves"], box: Bool[np.ndarray, "leaves width"], allowed: Mask
    ) -> Bool[np.ndarray, "trees features"]:
        """Return which features decide, among the levels that are allowed, where a row ends in each tree."""
        narrow = np.logical_or.reduceat(allowed & ~box, self.layout.offsets, axis=1)
        looks = np.zeros((len(self.forest.roots), narrow.shape[1]), dtype=bool)
        np.logical_or.at(looks, tree, narrow)
        return looks


View = Additive | Trees
"""A model seen through: exactly what it answers, as a sum of parts that depend on levels."""

TOLERANCE = 1e-6
"""How far the probabilities of a view may be from the model's: rounding, not disagreement."""


def agrees(view: View, cells: Cells, proba: Probabilities) -> Mask:
    """Return for which rows a view answers as the model did."""
    return np.asarray(np.abs(view.proba(view.scores(cells)) - proba).max(axis=1) <= TOLERANCE)


def _softmax(scores: Scores) -> Probabilities:
    mass = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def _exact(magnitude: float, *numbers: np.ndarray) -> bool:
    """Return whether all numbers are multiples of the grid, and their sums small enough to stay so."""
    return magnitude <= GRID and all(bool((part * GRID % 1 == 0).all()) for part in numbers)
