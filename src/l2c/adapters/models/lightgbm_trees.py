"""The trees inside LightGBM's classifiers, as plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float64

from l2c.adapters.models.columns import as_pandas, column_named
from l2c.adapters.models.lightgbm_model import categories_of, is_unnamed
from l2c.adapters.models.packages import packages_of
from l2c.adapters.models.trees import CODES, Grown, coded_columns, dense, for_class, joined
from l2c.core.sight import Forest


def lightgbm_grown(model: Any) -> Grown | None:
    """Return the trees of a LightGBM model of two classes, or None if it is none or tests in ways that are not read."""
    if "lightgbm" not in packages_of(model):
        return None
    booster = getattr(model, "booster_", model)
    if not hasattr(booster, "dump_model"):
        return None
    dumped = booster.dump_model()
    objective, _, steepness = str(dumped.get("objective", "")).partition(" sigmoid:")
    if objective != "binary" or any(len(known) > CODES for known in booster.pandas_categorical or []):
        return None
    trees = [_tree(tree["tree_structure"], float(steepness or 1.0)) for tree in dumped["tree_info"]]
    read = [tree for tree in trees if tree is not None]
    return Grown(joined(*read), "softmax", _prepared(booster), single=False) if len(read) == len(trees) else None


def _tree(root: Any, steepness: float) -> Forest | None:
    """Return one tree, or None if zeros count as missing in it: no cut tells these from their neighbours."""
    nodes: list[Any] = []
    ahead = [root]
    while ahead:
        node = ahead.pop()
        node["place"] = len(nodes)
        nodes.append(node)
        ahead += [node[side] for side in ("right_child", "left_child") if side in node]
    inner = [node for node in nodes if "threshold" in node]
    coded = [node for node in inner if node["decision_type"] == "=="]
    if any(node["missing_type"] == "Zero" for node in inner if node["decision_type"] != "=="):
        return None
    subset, subsets = np.full(len(nodes), -1), np.zeros((len(coded), CODES), dtype=bool)
    column, threshold, missing_left = np.full(len(nodes), -1), np.zeros(len(nodes)), np.zeros(len(nodes), dtype=bool)
    left, right, value = (np.zeros(len(nodes), dtype=kind) for kind in (np.int64, np.int64, np.float64))
    for line, node in enumerate(coded):
        subset[node["place"]] = line
        subsets[line, [int(code) for code in str(node["threshold"]).split("||")]] = True
    for node in nodes:
        place = node["place"]
        if "threshold" not in node:
            value[place] = steepness * node["leaf_value"]
            continue
        column[place], left[place], right[place] = (
            node["split_feature"], node["left_child"]["place"], node["right_child"]["place"],
        )  # fmt: skip
        if node["decision_type"] != "==":
            threshold[place] = node["threshold"]
            # Where nothing was missing in training, what is missing counts as 0.
            missing_left[place] = node["default_left"] if node["missing_type"] == "NaN" else node["threshold"] >= 0
    roots = np.zeros(1, dtype=np.int64)
    return Forest(roots, column, threshold, subset, subsets, missing_left, left, right, for_class(value, 0, 1))


def _prepared(booster: Any) -> Callable[[Any], Float64[np.ndarray, "rows columns"]]:
    """Return the function from what the model is given to its inputs: numbers, and the codes of categories."""
    names = booster.feature_name()

    def prepared(given: Any) -> Float64[np.ndarray, "rows columns"]:
        if isinstance(given, np.ndarray) or hasattr(given, "toarray"):
            return dense(given)
        frame = as_pandas(given)
        if not is_unnamed(names):
            frame = frame[[column_named(name, frame.columns) for name in names]]
        return coded_columns(frame, categories_of(booster, list(frame.columns))(frame))

    return prepared
