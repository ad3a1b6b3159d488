"""Twins of models that can be seen into: linear ones as they are measured, neural ones by layer, boosted ones by tree.

A twin is used only if it answers as the model does, on rows at random over all levels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from l2c.adapters.models.additive import AdditiveTwin, additive_twin
from l2c.adapters.models.threshold import Shifted
from l2c.adapters.models.torch_model import BLOCK, TorchModel
from l2c.adapters.models.tree_twins import tree_twin
from l2c.adapters.models.watch import Hurried
from l2c.core.blackbox import BlackBox
from l2c.core.layout import Layout
from l2c.core.streams import Streams
from l2c.core.tree_twin import TreeTwin
from l2c.core.twin import LayerTwin, Twin
from l2c.core.types import Cells
from l2c.errors import ModelError

CHECKED = 512
"""Rows on which a twin must answer as its model does."""

FARTHEST = 1e-5
"""How far the probabilities of a twin may be from its model's at the most: rounding in single precision is not more."""

LEAST = 1e-7
SAFETY = 100
"""Leads are left to the model itself if they are closer than so many times as far as the twin was seen to be off."""


def twin_of(blackbox: BlackBox, layout: Layout, model: object = None) -> Twin | None:
    """Return a twin that judges proposals by level, or None if the model cannot be seen into.

    Parameters
    ----------
    model
        What the black box was made of, where it is to be looked for trees.
    """
    asked = blackbox.blackbox if isinstance(blackbox, Hurried) else blackbox
    rows = rows_at_random(layout)
    try:
        twin = _seen(asked, model, layout, rows)
        off = np.inf if twin is None else twin.off(rows, asked.proba(rows))
    except ModelError:
        # A model that cannot be asked about every level is not known at every level.
        return None
    if twin is None or not off <= FARTHEST:
        return None
    return replace(twin, close=SAFETY * max(off, LEAST))


def _seen(blackbox: BlackBox, model: object, layout: Layout, rows: Cells) -> LayerTwin | TreeTwin | None:
    """Return the twin of whichever kind the model is, right or wrong."""
    if isinstance(blackbox, TorchModel):
        return _of_torch(blackbox, layout)
    if getattr(blackbox, "labels_only", False):
        return None
    return _measured(blackbox, layout, rows) or tree_twin(blackbox, model, layout, rows)


def twin_by_level(model: object) -> LayerTwin | None:
    """Return the twin by level that a differentiable one is, where that is a sum over the features; else None."""
    seen = model.model if isinstance(model, Shifted) else model
    return _of_sums(seen, seen.layout) if isinstance(seen, AdditiveTwin) else None


def rows_at_random(layout: Layout) -> Cells:
    """Return rows with every feature at a level drawn at random, numbers anywhere near it; they belong to nobody."""
    numbered = np.arange(CHECKED, dtype=np.float64)[:, None]
    words = Streams.for_rows(numbered, seed=1).draws(np.zeros(CHECKED, np.int64), 2, each=len(layout.axes))
    sizes = layout.sizes.astype(np.uint32)
    cells = layout.values((words[:, 0, :] % sizes).astype(np.int16), "median")
    others = layout.values((words[:, 1, :] % sizes).astype(np.int16), "median")
    numeric = np.array([feature.numeric for feature in layout.schema.features])
    known = numeric & ~np.isnan(cells) & ~np.isnan(others)
    whole = np.array([feature.integer for feature in layout.schema.features])
    between = cells + (others - cells) * 0.25
    return np.where(known, np.where(whole, np.rint(between), between), cells)


def _measured(blackbox: BlackBox, layout: Layout, rows: Cells) -> LayerTwin | None:
    seen = additive_twin(blackbox, layout, rows)
    return None if seen is None else _of_sums(seen, layout)


def _of_sums(seen: AdditiveTwin, layout: Layout) -> LayerTwin:
    """Return the twin of a model whose log-odds are a sum over the features."""
    numeric = _takes_numbers(layout)
    weights = np.where(numeric[:, None], seen.slopes[layout.owner], seen.entries)
    nothing, one = np.zeros(layout.width), np.ones(layout.width)
    return LayerTwin(
        layout, np.ascontiguousarray(weights), numeric, nothing, one, seen.intercept, None, SAFETY * FARTHEST
    )


def _of_torch(model: TorchModel, layout: Layout) -> LayerTwin | None:
    """Return the twin of a network whose first layer is linear."""
    import torch

    layers = list(model.module) if isinstance(model.module, torch.nn.Sequential) else [model.module]
    if not layers or type(layers[0]) is not torch.nn.Linear or layers[0].weight.dtype != torch.float32:
        return None
    first, rest = layers[0], torch.nn.Sequential(*layers[1:])
    linear = len(layers) == 1 and model.outputs == "logits"
    weights, mean, scale = _places(model, layout, first.weight.numpy().T)
    bias = np.zeros(first.out_features, dtype=np.float32) if first.bias is None else first.bias.numpy()
    mean, scale, numeric = mean[layout.owner], scale[layout.owner], _takes_numbers(layout)
    if linear:
        return LayerTwin(layout, weights, numeric, mean, scale, bias, None, SAFETY * FARTHEST)
    dense = _dense(layers[1:]) if model.outputs == "logits" else None
    return LayerTwin(layout, weights, numeric, mean, scale, bias, _scores(model, rest), SAFETY * FARTHEST, dense)


def _dense(layers: list[Any]) -> tuple[tuple[np.ndarray, np.ndarray], ...] | None:
    """Return the weights and biases of linear layers, each of which must come after a ReLU; None if one does not."""
    import torch

    cuts, linear = layers[::2], layers[1::2]
    known = [(torch.nn.ReLU, cut) for cut in cuts] + [(torch.nn.Linear, layer) for layer in linear]
    if len(cuts) != len(linear) or any(type(layer) is not kind for kind, layer in known):
        return None
    return tuple(
        (layer.weight.numpy().T, np.zeros(layer.out_features, np.float32) if layer.bias is None else layer.bias.numpy())
        for layer in linear
    )


def _scores(model: TorchModel, rest: Any) -> Callable[[Any], np.ndarray]:
    """Return the function from the first layer's sums to the scores of the classes."""
    import torch

    whole: Any = torch.from_numpy

    def scores(sums: Any) -> np.ndarray:
        # Blocks of one size, as the model itself is asked, so that a score does not depend on how many rows there are.
        padded = np.zeros((-(-len(sums) // BLOCK) * BLOCK, sums.shape[1]), dtype=np.float32)
        padded[: len(sums)] = sums
        with torch.no_grad():
            parts = [model.scores_of(rest(part)) for part in whole(padded).split(BLOCK)]
        return np.asarray(torch.cat(parts).numpy()[: len(sums)])

    return scores


def _places(model: TorchModel, layout: Layout, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the weights at each place of the flat axis, from those of the module's inputs, and numbers' scales."""
    encoder = model.inputs.encoder
    parts, column = [], 0
    for feature, axis in zip(layout.schema.features, layout.axes, strict=True):
        if feature.numeric:
            parts += [np.repeat(columns[column : column + 1], axis.known, axis=0)]
            parts += [columns[column + 1 : column + 1 + axis.missing]]
            column += 1 + axis.missing
        else:
            parts += [columns[column : column + axis.size]]
            column += axis.size
    return np.ascontiguousarray(np.concatenate(parts)), encoder.mean, encoder.scale


def _takes_numbers(layout: Layout) -> np.ndarray:
    """Return which places of the flat axis stand for a number."""
    numeric = np.array([feature.numeric for feature in layout.schema.features])
    return np.asarray(numeric[layout.owner] & layout.stands_for_a_value)
