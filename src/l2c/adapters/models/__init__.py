"""The user's model as a `BlackBox`: one entry, whatever the model is made of."""

from __future__ import annotations

from l2c.adapters.frames import FrameShape
from l2c.adapters.models.additive import additive_twin
from l2c.adapters.models.frame_model import FrameModel
from l2c.adapters.models.torch_model import TorchModel
from l2c.core.blackbox import BlackBox
from l2c.core.layout import Layout
from l2c.core.schema import Schema
from l2c.core.types import Cells
from l2c.errors import InputError

__all__ = ["FrameModel", "TorchModel", "as_blackbox", "differentiable"]


def as_blackbox(model: object, shape: FrameShape, examples: Cells) -> BlackBox:
    """Return the model as a black box that answers rows of cells.

    Parameters
    ----------
    model
        A scikit-learn classifier or pipeline, a `TorchModel`, or a function from a frame to probabilities.
    shape
        The frames that the model expects.
    examples
        A few rows on which the model is asked once, so that a broken one is found out here.
    """
    if isinstance(model, TorchModel):
        if _columns(model.inputs.schema) != _columns(shape.schema):
            raise InputError(
                "the torch model's input has other features, levels or missing values than the schema: "
                "fit OneHotInput with the schema that the explainer is given"
            )
        blackbox: BlackBox = model
    elif _is_torch_module(model):
        raise InputError(
            "a torch module needs to know its input: wrap it as "
            "l2c.TorchModel(module, l2c.OneHotInput.fit(df_train, schema), classes=...)"
        )
    elif callable(getattr(model, "predict_proba", None)):
        blackbox = FrameModel.of_estimator(model, shape)
    elif callable(model):
        blackbox = FrameModel.of_function(model, shape, examples)
    else:
        raise InputError(
            f"{type(model).__name__} is no model: expected predict_proba, an l2c.TorchModel, or a function "
            "from a data frame to probabilities"
        )
    blackbox.proba(examples)
    return blackbox


def differentiable(blackbox: BlackBox, layout: Layout, rows: Cells) -> object | None:
    """Return a model through which gradients flow, or None if the black box has none that is exact."""
    if isinstance(blackbox, TorchModel):
        return blackbox.differentiable(layout)
    return additive_twin(blackbox, layout, rows)


def _columns(schema: Schema) -> list[tuple[object, ...]]:
    """Return what decides where a feature stands in a model's input."""
    return [(feature.name, feature.numeric, feature.levels, feature.missing) for feature in schema.features]


def _is_torch_module(model: object) -> bool:
    return any(kind.__module__ == "torch.nn.modules.module" for kind in type(model).__mro__)
