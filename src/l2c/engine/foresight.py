"""What each level adds to a model's lead for the desired class, foreseen for any row without asking the model.

Where the log-odds of a model are a sum over the features, they are known (`Summed`). Any other model is nearly a sum
near a single row, and a network has learned which (`Foreseen`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float64

from l2c.core.compiled import Compiled, compiles
from l2c.core.method import Question
from l2c.core.twin import LayerTwin, Twin
from l2c.engine.encode import Encoder, inputs_of
from l2c.engine.networks import Network, forward, from_arrays, to_arrays

Gains = tuple[Float64[np.ndarray, "rows width"], Float64[np.ndarray, " rows"]]
"""For each row, what each level adds to the lead, and the lead without them; above zero a proposal is valid."""


@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """A model of two classes whose log-odds are a sum over the features.

    Parameters
    ----------
    weights
        What a unit of input at each place of the flat axis adds to the log-odds of the second class.
    numeric, mean, scale
        Which places take a number, and how it is standardised; at all others the input is 1.
    bias
        What the sum starts from.
    """

    weights: Float64[np.ndarray, " width"]
    numeric: Bool[np.ndarray, " width"]
    mean: Float64[np.ndarray, " width"]
    scale: Float64[np.ndarray, " width"]
    bias: float

    noise: ClassVar[float] = 0.0

    def gains(self, question: Question) -> Gains:
        """Return what each level adds for each row, with the value that stands for it there."""
        values, threshold = question.room.values, question.goal.threshold
        tie = 0.0 if threshold is None else math.log(threshold / (1 - threshold))
        sign, add_up = _sign(question), _added if compiles() else _added_at_once
        return add_up(values, sign, self.weights, self.numeric, self.mean, self.scale), (self.bias - tie) * sign


@Compiled
def _added(
    values: Float64[np.ndarray, "rows width"],
    sign: Float64[np.ndarray, " rows"],
    weights: Float64[np.ndarray, " width"],
    numeric: Bool[np.ndarray, " width"],
    mean: Float64[np.ndarray, " width"],
    scale: Float64[np.ndarray, " width"],
) -> Float64[np.ndarray, "rows width"]:
    """Return what each level adds to the log-odds of the class that each row's sign stands for."""
    gains = np.empty(values.shape)
    for row in range(len(values)):
        for place in range(len(weights)):
            given = (values[row, place] - mean[place]) / scale[place] if numeric[place] else 1.0
            gains[row, place] = given * weights[place] * sign[row]
    return gains


def _added_at_once(
    values: Float64[np.ndarray, "rows width"],
    sign: Float64[np.ndarray, " rows"],
    weights: Float64[np.ndarray, " width"],
    numeric: Bool[np.ndarray, " width"],
    mean: Float64[np.ndarray, " width"],
    scale: Float64[np.ndarray, " width"],
) -> Float64[np.ndarray, "rows width"]:
    """Return what `_added` returns, all rows at once."""
    given = np.where(numeric, (np.where(numeric, values, 0.0) - mean) / scale, 1.0)
    return np.asarray(given * weights * sign[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class Foreseen:
    """What a network foresees of a model: the gains of all levels, and after them the lead without them."""

    encoder: Encoder
    network: Network

    noise: ClassVar[float] = math.pi**2 / 3
    """It foresees odds, not certainties: the variance of the logistic law."""

    def gains(self, question: Question) -> Gains:
        """Return what each level adds for each row, in log-odds of being valid."""
        foreseen = forward(self.network, inputs_of(self.encoder, question)).astype(np.float64)
        sign = _sign(question)
        return foreseen[:, :-1] * sign[:, None], foreseen[:, -1] * sign


Foresight = Summed | Foreseen


def _sign(question: Question) -> Float64[np.ndarray, " rows"]:
    """Return −1 where the first of two classes is desired: what is foreseen is the second's. Of more, the desired's."""
    two = question.goal.accepted.shape[1] <= 2
    return np.where(question.desired == 0, -1.0, 1.0) if two else np.ones(len(question))


def summed(twin: Twin) -> Summed | None:
    """Return the sum that a twin is, or None if it is more than a first layer, or of more than two classes."""
    if not isinstance(twin, LayerTwin) or twin.scores is not None or len(twin.bias) > 2:
        return None
    weights, bias = twin.log_odds
    return Summed(np.ascontiguousarray(weights), twin.numeric, twin.mean, twin.scale, bias)


def arrays_of(foresight: Foresight | None) -> dict[str, np.ndarray]:
    """Return what a file keeps of a foresight."""
    match foresight:
        case None:
            return {}
        case Foreseen():
            return to_arrays("foresight", foresight.network)
        case Summed():
            names = ("weights", "mean", "scale")
            parts = {f"sum.{name}": np.ascontiguousarray(getattr(foresight, name)) for name in names}
            return {**parts, "sum.numeric": foresight.numeric.astype(np.int16), "sum.bias": np.array([foresight.bias])}


def foresight_of(arrays: Mapping[str, np.ndarray], encoder: Encoder) -> Foresight | None:
    """Return the foresight that `arrays_of` wrote, if any."""
    if "sum.weights" in arrays:
        parts = (arrays[f"sum.{name}"] for name in ("weights", "numeric", "mean", "scale", "bias"))
        weights, numeric, mean, scale, bias = parts
        return Summed(weights, numeric.astype(bool), mean, scale, float(bias[0]))
    network = from_arrays("foresight", arrays)
    return Foreseen(encoder, network) if network else None
