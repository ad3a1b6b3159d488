"""The user's model as a `BlackBox`: one entry, whatever the model is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from l2c.adapters.frames import FrameShape
from l2c.adapters.models.additive import additive_twin
from l2c.adapters.models.catboost_model import catboost_model
from l2c.adapters.models.discretised import DiscretisedModel
from l2c.adapters.models.estimators import estimator_model
from l2c.adapters.models.frame_model import FrameModel
from l2c.adapters.models.functions import function_model
from l2c.adapters.models.http_model import HttpModel
from l2c.adapters.models.lightgbm_model import lightgbm_model
from l2c.adapters.models.onnx_model import OnnxModel
from l2c.adapters.models.packages import packages_of
from l2c.adapters.models.threshold import Shifted
from l2c.adapters.models.torch_model import TorchModel
from l2c.adapters.models.watch import Hurried
from l2c.adapters.models.xgboost_model import xgboost_model
from l2c.core.blackbox import BlackBox, threshold_of
from l2c.core.layout import Layout
from l2c.core.schema import Schema
from l2c.core.types import Cells
from l2c.errors import InputError

__all__ = [
    "DiscretisedModel",
    "FrameModel",
    "HttpModel",
    "OnnxModel",
    "TorchModel",
    "as_blackbox",
    "differentiable",
    "own_layout",
]

BOOSTING: dict[str, Callable[[Any, FrameShape], FrameModel]] = {
    "xgboost": xgboost_model,
    "lightgbm": lightgbm_model,
    "catboost": catboost_model,
}
"""Libraries whose models are known by the package that their class comes from; none is imported to find out."""


def as_blackbox(model: object, shape: FrameShape, examples: Cells) -> BlackBox:
    """Return the model as a black box that answers rows of cells.

    Parameters
    ----------
    model
        A scikit-learn classifier or pipeline, a model of XGBoost, LightGBM or CatBoost, a `TorchModel`, a
        `DiscretisedModel`, an `OnnxModel`, an `HttpModel`, or a function from a frame to probabilities or labels.
    shape
        The frames that the model expects.
    examples
        A few rows on which the model is asked once, so that a broken one is found out here.
    """
    blackbox = _blackbox(model, shape, examples)
    blackbox.proba(examples)
    return blackbox


def _blackbox(model: Any, shape: FrameShape, examples: Cells) -> BlackBox:
    if isinstance(model, TorchModel):
        return _checked_input(model, shape)
    if isinstance(model, DiscretisedModel):
        return model.explained_with(shape.schema)
    if isinstance(model, OnnxModel | HttpModel):
        return model.blackbox(shape, examples)
    packages = packages_of(model)
    for package, adapter in BOOSTING.items():
        if package in packages:
            return adapter(model, shape)
    if "torch.nn.modules.module" in packages:
        raise InputError(
            "a torch module needs to know its input: wrap it as "
            "l2c.TorchModel(module, l2c.OneHotInput.fit(df_train, schema), classes=...)"
        )
    predicts = callable(getattr(model, "predict", None))
    if callable(getattr(model, "predict_proba", None)) or (predicts and hasattr(model, "classes_")):
        return estimator_model(model, shape)
    if callable(model):
        return function_model(model, shape, examples)
    name = type(model).__name__
    if predicts:
        raise InputError(f"{name} has predict, but no classes_: expected a classifier that is fitted")
    raise InputError(
        f"{name} is no model: expected predict_proba or predict, an l2c.TorchModel, l2c.OnnxModel or l2c.HttpModel, "
        "or a function from a data frame to probabilities"
    )


def differentiable(blackbox: BlackBox, layout: Layout, rows: Cells) -> object | None:
    """Return a model through which gradients flow, or None if the black box has none that is exact."""
    model, threshold = _differentiable(blackbox, layout, rows), threshold_of(blackbox)
    return model if model is None or threshold is None else Shifted(model, threshold)


def _differentiable(blackbox: BlackBox, layout: Layout, rows: Cells) -> object | None:
    if isinstance(blackbox, Hurried):
        blackbox = blackbox.blackbox
    if isinstance(blackbox, TorchModel):
        return blackbox.differentiable(layout)
    if isinstance(blackbox, DiscretisedModel):
        return blackbox.differentiable(rows)
    # Labels have no slope: a step up or down says nothing of where to go.
    return None if getattr(blackbox, "labels_only", False) else additive_twin(blackbox, layout, rows)


def own_layout(blackbox: BlackBox) -> Layout | None:
    """Return the levels that a model was trained on, or None if it was trained on values."""
    if isinstance(blackbox, Hurried):
        blackbox = blackbox.blackbox
    return blackbox.layout if isinstance(blackbox, DiscretisedModel) else None


def _checked_input(model: TorchModel, shape: FrameShape) -> TorchModel:
    if _columns(model.inputs.schema) != _columns(shape.schema):
        raise InputError(
            "the torch model's input has other features, levels or missing values than the schema: "
            "fit OneHotInput with the schema that the explainer is given"
        )
    return model


def _columns(schema: Schema) -> list[tuple[object, ...]]:
    """Return what decides where a feature stands in a model's input."""
    return [(feature.name, feature.numeric, feature.levels, feature.missing) for feature in schema.features]
