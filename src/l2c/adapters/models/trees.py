"""The trees inside tree models as plain arrays: scikit-learn's, and what other libraries' have in common with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64

from l2c.core.sight import Forest, Link
from l2c.core.types import Label

CODES = 256
"""The most codes that a test for codes tells apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """A tree model read.

    Parameters
    ----------
    forest
        Its trees.
    link
        How their sum becomes a probability.
    prepared
        From what it is given to the inputs of its trees.
    single
        Whether these are rounded to single precision before they are compared.
    """

    forest: Forest
    link: Link
    prepared: Callable[[Any], Float64[np.ndarray, "rows columns"]]
    single: bool = True


def grown(estimator: Any) -> Grown | None:
    """Return the trees of a fitted scikit-learn model, or None if it has none that can be read.

    Trees, forests and gradient boosting are read. What the sum of a boosting starts from is not: it is constant, and
    easier measured.
    """
    try:
        from sklearn import ensemble, tree
    except ImportError:
        return None
    if isinstance(estimator, tree.DecisionTreeClassifier):
        return Grown(joined(_nodes(estimator.tree_)), "mean", dense)
    if isinstance(estimator, ensemble.RandomForestClassifier | ensemble.ExtraTreesClassifier):
        return Grown(joined(*(_nodes(each.tree_) for each in estimator.estimators_)), "mean", dense)
    if isinstance(estimator, ensemble.GradientBoostingClassifier):
        return Grown(joined(*_boosted(estimator)), "softmax", dense)
    if isinstance(estimator, ensemble.HistGradientBoostingClassifier) and hasattr(estimator, "_predictors"):

        def prepared(matrix: Any) -> Float64[np.ndarray, "rows columns"]:
            return dense(estimator._preprocess_X(matrix, reset=False))

        return Grown(joined(*_histogram(estimator)), "softmax", prepared, single=False)
    return None


def dense(matrix: Any) -> Float64[np.ndarray, "rows columns"]:
    """Return a matrix of double precision, if it was sparse or not."""
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)


def coded_columns(
    frame: pd.DataFrame, categories: Mapping[str, Sequence[Label]]
) -> Float64[np.ndarray, "rows columns"]:
    """Return the columns of a frame as numbers: those known by category as codes, and NaN for what is none of these."""
    columns = []
    for name in frame.columns:
        if name in categories:
            codes = {level: float(code) for code, level in enumerate(categories[name])}
            columns.append(np.array([codes.get(value, np.nan) for value in frame[name].tolist()]))
        else:
            columns.append(frame[name].to_numpy(dtype=np.float64, na_value=np.nan))
    return np.stack(columns, axis=1)


def joined(*trees: Forest) -> Forest:
    """Return several forests as one."""
    nodes = np.cumsum([0, *(len(tree.column) for tree in trees)])
    subsets = np.cumsum([0, *(len(tree.subsets) for tree in trees)])
    starts = list(zip(trees, nodes[:-1], subsets[:-1], strict=True))
    return Forest(
        np.concatenate([tree.roots + node for tree, node, _ in starts]),
        np.concatenate([tree.column for tree in trees]),
        np.concatenate([tree.threshold for tree in trees]),
        np.concatenate([np.where(tree.subset < 0, -1, tree.subset + subset) for tree, _, subset in starts]),
        np.concatenate([tree.subsets for tree in trees]),
        np.concatenate([tree.missing_left for tree in trees]),
        np.concatenate([tree.left + node for tree, node, _ in starts]),
        np.concatenate([tree.right + node for tree, node, _ in starts]),
        np.concatenate([tree.value for tree in trees]),
    )


def _nodes(tree: Any, value: Float64[np.ndarray, "nodes classes"] | None = None) -> Forest:
    """Return one of scikit-learn's trees, whose leaves add the given values or their own shares of the classes."""
    count = tree.node_count
    leaf = tree.children_left < 0
    return Forest(
        np.zeros(1, dtype=np.int64),
        np.where(leaf, -1, tree.feature).astype(np.int64),
        tree.threshold.astype(np.float64),
        np.full(count, -1, dtype=np.int64),
        np.zeros((0, CODES), dtype=bool),
        tree.missing_go_to_left.astype(bool),
        np.maximum(tree.children_left, 0).astype(np.int64),
        np.maximum(tree.children_right, 0).astype(np.int64),
        tree.value[:, 0, :].astype(np.float64) if value is None else value,
    )


def _boosted(estimator: Any) -> Iterator[Forest]:
    # With the exponential loss, a score counts twice.
    rate = estimator.learning_rate * (2.0 if estimator.loss == "exponential" else 1.0)
    for stage in estimator.estimators_:
        for position, each in enumerate(stage):
            value = for_class(rate * each.tree_.value[:, 0, 0], position, len(stage))
            yield _nodes(each.tree_, value)


def for_class(added: Float64[np.ndarray, " nodes"], position: int, stage: int) -> Float64[np.ndarray, "nodes classes"]:
    """Return what the leaves of one tree of a stage add to each class; a stage of one tree speaks for the second."""
    value = np.zeros((len(added), max(stage, 2)))
    value[:, position if stage > 1 else 1] = added
    return value


def _histogram(estimator: Any) -> Iterator[Forest]:
    known, rows = estimator._bin_mapper.make_known_categories_bitsets()
    for stage in estimator._predictors:
        for position, each in enumerate(stage):
            nodes = each.nodes
            leaf, coded = nodes["is_leaf"].astype(bool), nodes["is_categorical"].astype(bool)
            missing_left = nodes["missing_go_to_left"].astype(bool)
            yield Forest(
                np.zeros(1, dtype=np.int64),
                np.where(leaf, -1, nodes["feature_idx"]).astype(np.int64),
                nodes["num_threshold"].astype(np.float64),
                np.where(coded & ~leaf, np.cumsum(coded & ~leaf) - 1, -1).astype(np.int64),
                np.array(
                    [
                        # A code that the model never saw goes where missing values go.
                        _bits(each.raw_left_cat_bitsets[nodes["bitset_idx"][node]])
                        | (~_bits(known[rows[nodes["feature_idx"][node]]]) & missing_left[node])
                        for node in np.flatnonzero(coded & ~leaf)
                    ],
                    dtype=bool,
                ).reshape(-1, CODES),
                missing_left,
                nodes["left"].astype(np.int64),
                nodes["right"].astype(np.int64),
                for_class(nodes["value"].astype(np.float64), position, len(stage)),
            )


def _bits(words: np.ndarray) -> Bool[np.ndarray, " codes"]:
    """Return the bits of words of 32, from the lowest on."""
    shifted = words[:, None].astype(np.uint64) >> np.arange(32, dtype=np.uint64)
    return np.asarray((shifted & np.uint64(1)).astype(bool).ravel())
