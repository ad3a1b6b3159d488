"""The trees inside XGBoost's classifiers, as plain arrays."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float64

from l2c.adapters.models.columns import as_pandas, in_order
from l2c.adapters.models.packages import packages_of
from l2c.adapters.models.trees import CODES, Grown, coded_columns, dense, for_class, joined
from l2c.adapters.models.xgboost_model import categories_of
from l2c.core.sight import Forest


def xgboost_grown(model: Any) -> Grown | None:
    """Return the trees of an XGBoost model of two classes, or None if it is none or has other parts than trees."""
    if "xgboost" not in packages_of(model):
        return None
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not hasattr(booster, "save_raw"):
        return None
    learner = json.loads(booster.save_raw("json"))["learner"]
    inner = learner["gradient_booster"]
    if learner["objective"]["name"] != "binary:logistic" or inner["name"] != "gbtree":
        return None
    if any(len(known) > CODES for known in categories_of(booster).values()):
        return None
    if not np.isnan(getattr(model, "missing", np.nan)):
        return None  # some number counts as missing, and no cut tells it from its neighbours
    trees = inner["model"]["trees"]
    # A classifier leaves out what was grown after its best round, and a bare booster does not.
    rounds = getattr(model, "best_iteration", None) if model is not booster else None
    if rounds is not None:
        trees = trees[: inner["model"]["iteration_indptr"][rounds + 1]]
    return Grown(joined(*(_tree(tree) for tree in trees)), "softmax", _prepared(booster))


def _tree(tree: Any) -> Forest:
    """Return one tree: a number goes left below the condition, a code if it is not among the node's categories."""
    left, right = (np.array(tree[name], dtype=np.int64) for name in ("left_children", "right_children"))
    leaf, conditions = left < 0, np.array(tree["split_conditions"], dtype=np.float32)
    coded = np.flatnonzero(np.array(tree["split_type"], dtype=bool) & ~leaf)
    subset, subsets = np.full(len(left), -1), np.ones((len(coded), CODES), dtype=bool)
    subset[coded] = np.arange(len(coded))
    for node, begin, size in zip(
        tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
    ):
        subsets[subset[node], tree["categories"][begin : begin + size]] = False
    return Forest(
        np.zeros(1, dtype=np.int64),
        np.where(leaf, -1, np.array(tree["split_indices"], dtype=np.int64)),
        np.nextafter(conditions, np.float32(-np.inf)).astype(np.float64),
        subset,
        subsets,
        np.array(tree["default_left"], dtype=bool),
        np.maximum(left, 0),
        np.maximum(right, 0),
        for_class(np.where(leaf, conditions, 0.0).astype(np.float64), 0, 1),
    )


def _prepared(booster: Any) -> Callable[[Any], Float64[np.ndarray, "rows columns"]]:
    """Return the function from what the model is given to its inputs: numbers, and the codes of categories."""
    names, categories = booster.feature_names, categories_of(booster)

    def prepared(given: Any) -> Float64[np.ndarray, "rows columns"]:
        if hasattr(given, "tocoo"):
            # What a sparse matrix does not hold is missing here, and not 0.
            held, inputs = given.tocoo(), np.full(given.shape, np.nan)
            inputs[held.row, held.col] = held.data
            return inputs
        if isinstance(given, np.ndarray):
            return dense(given)
        frame = as_pandas(given) if names is None else in_order(given, names)
        return coded_columns(frame, {frame.columns[place]: known for place, known in categories.items()})

    return prepared
