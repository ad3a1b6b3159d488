"""Models that predict a number: how they are told from classifiers, and how they are asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from l2c.adapters.frames import FrameShape
from l2c.adapters.models.catboost_model import catboost_regressor
from l2c.adapters.models.estimators import estimator_regressor
from l2c.adapters.models.lightgbm_model import lightgbm_regressor
from l2c.adapters.models.packages import packages_of
from l2c.adapters.models.xgboost_model import xgboost_regressor

BOOSTING: dict[str, Callable[[Any, FrameShape], Callable[[Any], object] | None]] = {
    "xgboost": xgboost_regressor,
    "lightgbm": lightgbm_regressor,
    "catboost": catboost_regressor,
}


def regressor(model: Any, shape: FrameShape) -> Callable[[Any], object] | None:
    """Return the function from a frame to the numbers that a model predicts, or None if it is not known to.

    Regressors of scikit-learn and of the boosting libraries say what they are. Any other model with `predict`, and any
    function, says so by an attribute `regression` that is True: from a few numbers alone it cannot be told whether
    they are predictions, probabilities or labels.
    """
    if getattr(model, "regression", False) is True:
        predict = getattr(model, "predict", None)
        if callable(predict):
            return predict
        return model if callable(model) else None
    packages = packages_of(model)
    for package, adapter in BOOSTING.items():
        if package in packages:
            return adapter(model, shape)
    return estimator_regressor(model)
