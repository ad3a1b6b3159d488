"""The generator G and the selector S as plain arrays, and their forward pass in numpy.

Explaining needs no torch. Sums are added up input by input, so that a row's logits do not depend on the other rows: a
product of matrices adds in an order that differs from machine to machine, and from place to place in a batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float32

from l2c.core.compiled import Compiled, compiles

BLOCK = 256
"""Rows worked on at once in numpy: they stay in the processor's nearer memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """One dense layer, y = W x + b."""

    weight: Float32[np.ndarray, "outputs inputs"]
    bias: Float32[np.ndarray, " outputs"]
    turned: Float32[np.ndarray, "inputs outputs"] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "turned", np.ascontiguousarray(self.weight.T))


Network = tuple[Dense, ...]


def forward(network: Network, inputs: Float32[np.ndarray, "rows inputs"]) -> Float32[np.ndarray, "rows outputs"]:
    """Return the logits of a network: dense layers with ReLU between them."""
    add_up, hidden = added_up if compiles() else added_up_at_once, np.ascontiguousarray(inputs)
    for layer in network[:-1]:
        hidden = np.maximum(add_up(hidden, layer.turned, layer.bias), 0)
    return add_up(hidden, network[-1].turned, network[-1].bias)


@Compiled
def added_up(
    inputs: Float32[np.ndarray, "rows inputs"],
    weight: Float32[np.ndarray, "inputs outputs"],
    bias: Float32[np.ndarray, " outputs"],
) -> Float32[np.ndarray, "rows outputs"]:
    """Return the outputs of a layer, each added up input by input."""
    outputs = np.zeros((len(inputs), len(bias)), np.float32)
    for row in range(len(inputs)):
        for k in range(len(weight)):
            x = inputs[row, k]
            if x != 0:  # many are: one-hot inputs, and what ReLU cut off
                for u in range(len(bias)):
                    outputs[row, u] += x * weight[k, u]
        for u in range(len(bias)):
            outputs[row, u] += bias[u]
    return outputs


def added_up_at_once(
    inputs: Float32[np.ndarray, "rows inputs"],
    weight: Float32[np.ndarray, "inputs outputs"],
    bias: Float32[np.ndarray, " outputs"],
) -> Float32[np.ndarray, "rows outputs"]:
    """Return what `added_up` returns, many rows at once."""
    outputs = np.zeros((len(inputs), len(bias)), np.float32)
    for start in range(0, len(inputs), BLOCK):
        rows, sums = inputs[start : start + BLOCK], outputs[start : start + BLOCK]
        for k, line in enumerate(weight):
            sums += rows[:, k, None] * line
        sums += bias
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
