"""The cuts of one CART tree over several features together, on the model's answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from l2c.core.types import Cells
from l2c.engine.minimal_entropy import gaps
from l2c.errors import MissingExtraError


def tree_cuts(cells: Cells, predicted: Int64[np.ndarray, " rows"], min_split: int) -> tuple[tuple[float, ...], ...]:
    """Return each feature's cuts in one entropy tree over all of them, rising; none where it is not used.

    Rows with a missing value in any of the features are left out of the tree.

    Parameters
    ----------
    cells
        The numeric features that share the tree.
    predicted
        The black box's class for each row.
    min_split
        The smallest number of rows that the tree still splits.

    Examples
    --------
    >>> tree_cuts(np.array([[1.0, 7.0], [2.0, 7.0], [5.0, 7.0]]), np.array([0, 0, 1]), min_split=2)
    ((3.5,), ())
    """
    classifier = _classifier(min_split)
    complete = ~np.isnan(cells).any(axis=1)
    if not complete.any():
        return ((),) * cells.shape[1]
    tree = classifier.fit(cells[complete], predicted[complete]).tree_
    return tuple(
        _snapped(tree.threshold[tree.feature == i], column[~np.isnan(column)]) for i, column in enumerate(cells.T)
    )


def _classifier(min_split: int) -> Any:
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError as error:
        raise MissingExtraError("Tree discretisation", "scikit-learn", "sklearn") from error
    return DecisionTreeClassifier(criterion="entropy", min_samples_split=min_split, random_state=0)


def _snapped(thresholds: Float64[np.ndarray, " nodes"], values: Float64[np.ndarray, " rows"]) -> tuple[float, ...]:
    """Return the middles of the gaps between values that the thresholds fall into.

    The tree compares values rounded to 32 bits, so that `x <= threshold` may differ from what it does.
    """
    distinct = np.unique(values)
    seen = distinct.astype(np.float32).astype(np.float64)
    below = np.searchsorted(seen, thresholds, side="right")
    return tuple(gaps(distinct)[np.unique(below) - 1].tolist())
