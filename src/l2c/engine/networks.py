"""The generator G and the selector S as plain arrays, and their forward pass in numpy.

Explaining needs no torch. The pass runs in blocks of one size, the last one padded, so that a row's logits do
not depend on how many other rows came with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

BLOCK = 256
"""Rows a block; a fixed size keeps the order of floating-point sums fixed."""


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """One dense layer, y = W x + b."""

    weight: Float32[np.ndarray, "outputs inputs"]
    bias: Float32[np.ndarray, " outputs"]


Network = tuple[Dense, ...]


def forward(network: Network, inputs: Float32[np.ndarray, "rows inputs"]) -> Float32[np.ndarray, "rows outputs"]:
    """Return the logits of a network: dense layers with ReLU between them."""
    outputs = np.empty((len(inputs), len(network[-1].bias)), dtype=np.float32)
    block = np.zeros((BLOCK, inputs.shape[1]), dtype=np.float32)
    for start in range(0, len(inputs), BLOCK):
        rows = inputs[start : start + BLOCK]
        block[: len(rows)] = rows
        hidden = block
        for layer in network[:-1]:
            hidden = np.maximum(hidden @ layer.weight.T + layer.bias, 0)
        logits = hidden @ network[-1].weight.T + network[-1].bias
        outputs[start : start + len(rows)] = logits[: len(rows)]
    return outputs


def to_arrays(name: str, network: Network) -> dict[str, np.ndarray]:
    """Return a network's arrays under flat names, for a file."""
    return {
        f"{name}.{i}.{part}": np.ascontiguousarray(getattr(layer, part))
        for i, layer in enumerate(network)
        for part in ("weight", "bias")
    }


def from_arrays(name: str, arrays: Mapping[str, np.ndarray]) -> Network:
    """Return the network that `to_arrays` wrote under this name; empty if there is none."""
    layers: list[Dense] = []
    while f"{name}.{len(layers)}.weight" in arrays:
        key = f"{name}.{len(layers)}"
        layers.append(Dense(arrays[f"{key}.weight"], arrays[f"{key}.bias"]))
    return tuple(layers)
